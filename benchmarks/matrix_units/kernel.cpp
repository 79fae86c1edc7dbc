// sums[r] = sum over the words v of 2^(rows[r] . weight[v] + bias[v]); the caller has multiplied
// rows and bias by log2 e. Product, power and sum are one pass: no logit is written to memory that
// is larger than the first-level cache.
//
// The lanes of a vector are rows, in all three arithmetics: a row's sum never leaves its lane and
// is added up in the same order whatever is beside it. Rows come packed in chunks of 32 (zeros fill
// the last), words in groups of 12 or 32 (words of bias -1e4, whose power is 0, fill the last).

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr int ROWS = 32;   // two vectors
constexpr int WORDS = 12;  // 2 x 12 of the 32 registers hold sums
constexpr int TILE = 16;   // rows or words of a tile; 16 pairs deep

// 2^x to 1e-7 of itself: a polynomial on [-1/2, 1/2] (least largest relative error) and an exponent.
inline __m512 power(__m512 x) {
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 part = _mm512_sub_ps(x, whole);
    __m512 sum = _mm512_set1_ps(0.00132764721f);
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.00967554166f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.0555071328f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.240221197f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.693146967f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(1.00000007f));
    return _mm512_scalef_ps(sum, whole);
}

// Calls group(number, chunk, sums of the chunk's two vectors) for all groups and chunks, the groups
// in blocks that stay in the second-level cache while all chunks pass by.
template <class Group>
inline void for_all(long chunks, long groups, long block, float *sums, Group group) {
    for (long first = 0; first < groups; first += block) {
        for (long chunk = 0; chunk < chunks; ++chunk) {
            float *mine = sums + chunk * ROWS;
            __m512 total[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
            for (long number = first; number < std::min(first + block, groups); ++number)
                group(number, chunk, total);
            for (int half = 0; half < 2; ++half) {
                float *lanes = mine + 16 * half;
                const __m512 before = first ? _mm512_loadu_ps(lanes) : _mm512_setzero_ps();
                _mm512_storeu_ps(lanes, _mm512_add_ps(before, total[half]));
            }
        }
    }
}

inline void add_powers(const __m512 (&logits)[WORDS][2], __m512 *total) {
#pragma GCC unroll 12
    for (int word = 0; word < WORDS; ++word)
        for (int half = 0; half < 2; ++half)
            total[half] = _mm512_add_ps(total[half], power(logits[word][half]));
}

inline void start(__m512 (&logits)[WORDS][2], const float *bias) {
#pragma GCC unroll 12
    for (int word = 0; word < WORDS; ++word)
        logits[word][0] = logits[word][1] = _mm512_set1_ps(bias[word]);
}

// rows [chunks][pairs][PARTS][32] pairs, weight [groups][pairs][12] pairs of bf16 numbers.
template <int PARTS>
void pair_sums(const uint32_t *rows, const uint32_t *weight, const float *bias, long chunks,
               long groups, long pairs, long block, float *sums) {
    for_all(chunks, groups, block, sums, [=](long number, long chunk, __m512 *total) {
        __m512 logits[WORDS][2];
        start(logits, bias + number * WORDS);
        const uint32_t *words = weight + number * pairs * WORDS;
        const uint32_t *here = rows + chunk * pairs * PARTS * ROWS;
        for (long pair = 0; pair < pairs; ++pair, words += WORDS, here += PARTS * ROWS) {
            __m512bh parts[PARTS][2];
            for (int part = 0; part < PARTS; ++part)
                for (int half = 0; half < 2; ++half)
                    parts[part][half] =
                        (__m512bh)_mm512_loadu_si512(here + part * ROWS + 16 * half);
#pragma GCC unroll 12
            for (int word = 0; word < WORDS; ++word) {
                const __m512bh factor = (__m512bh)_mm512_set1_epi32(words[word]);
                for (int part = 0; part < PARTS; ++part)
                    for (int half = 0; half < 2; ++half)
                        logits[word][half] =
                            _mm512_dpbf16_ps(logits[word][half], parts[part][half], factor);
            }
        }
        add_powers(logits, total);
    });
}

// The tile instructions themselves (Intel AMX), ...
struct Hardware {
    static void configure() {
        struct alignas(64) {
            uint8_t palette = 1, start = 0, reserved[14] = {};
            uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } shapes;
        asm volatile("ldtilecfg %0" ::"m"(shapes));
    }
    static void release() { asm volatile("tilerelease"); }
    template <int T> static void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(T)); }
    template <int T> static void load(const void *from, long stride) {
        asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(T), "r"(from), "r"(stride) : "memory");
    }
    template <int T> static void store(void *to) {
        asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(T), "r"(to), "r"(64L) : "memory");
    }
    template <int C, int A, int B> static void product() {  // C += A B
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    }
};

// ... and the same in plain C++, as Intel's manual describes them.
struct Emulated {
    static inline thread_local uint8_t tiles[8][16][64];
    static void configure() {}
    static void release() {}
    template <int T> static void zero() { memset(tiles[T], 0, sizeof tiles[T]); }
    template <int T> static void load(const void *from, long stride) {
        for (int row = 0; row < 16; ++row)
            memcpy(tiles[T][row], static_cast<const char *>(from) + row * stride, 64);
    }
    template <int T> static void store(void *to) { memcpy(to, tiles[T], sizeof tiles[T]); }
    static float number(const uint8_t *row, int place) {
        uint32_t bits = (row[2 * place] | row[2 * place + 1] << 8) << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    template <int C, int A, int B> static void product() {
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 16; ++column) {
                float sum[2] = {0, 0}, before;  // of even and of odd numbers
                for (int pair = 0; pair < 16; ++pair)
                    for (int odd = 0; odd < 2; ++odd)
                        sum[odd] += number(tiles[A][row], 2 * pair + odd) *
                                    number(tiles[B][pair], 2 * column + odd);
                uint8_t *place = tiles[C][row] + 4 * column;
                memcpy(&before, place, sizeof before);
                before += sum[0] + sum[1];
                memcpy(place, &before, sizeof before);
            }
    }
};

// rows as for pairs, weight [groups x 32][2 pairs] bf16; pairs is a multiple of 16. Words are the
// rows of a tile and rows its columns, so that a stored tile is 16 vectors whose lanes are rows.
template <class Tiles, int PARTS>
void tile_sums(const uint32_t *rows, const uint32_t *weight, const float *bias, long chunks,
               long groups, long pairs, long block, float *sums) {
    Tiles::configure();
    alignas(64) static thread_local float logits[2][2 * TILE][TILE];  // half, word, row
    for_all(chunks, groups, block, sums, [=](long number, long chunk, __m512 *total) {
        const uint32_t *words = weight + number * 2 * TILE * pairs;
        const uint32_t *here = rows + chunk * pairs * PARTS * ROWS;
        Tiles::template zero<0>();
        Tiles::template zero<1>();
        Tiles::template zero<2>();
        Tiles::template zero<3>();
        for (long pair = 0; pair < pairs; pair += TILE) {
            Tiles::template load<4>(words + pair, 4 * pairs);
            Tiles::template load<5>(words + TILE * pairs + pair, 4 * pairs);
            for (int part = 0; part < PARTS; ++part) {
                const uint32_t *mine = here + (pair * PARTS + part) * ROWS;
                Tiles::template load<6>(mine, 4 * PARTS * ROWS);
                Tiles::template load<7>(mine + TILE, 4 * PARTS * ROWS);
                Tiles::template product<0, 4, 6>();
                Tiles::template product<1, 5, 6>();
                Tiles::template product<2, 4, 7>();
                Tiles::template product<3, 5, 7>();
            }
        }
        Tiles::template store<0>(logits[0][0]);
        Tiles::template store<1>(logits[0][TILE]);
        Tiles::template store<2>(logits[1][0]);
        Tiles::template store<3>(logits[1][TILE]);
        for (int word = 0; word < 2 * TILE; ++word) {
            const __m512 added = _mm512_set1_ps(bias[number * 2 * TILE + word]);
            for (int half = 0; half < 2; ++half) {
                const __m512 logit = _mm512_add_ps(_mm512_load_ps(logits[half][word]), added);
                total[half] = _mm512_add_ps(total[half], power(logit));
            }
        }
    });
    Tiles::release();
}

}  // namespace

extern "C" {

// Whether this processor and system have what the functions below are named after.
int has_vectors() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"); }
int has_pairs() { return has_vectors() && __builtin_cpu_supports("avx512bf16"); }
int has_tiles() {
    constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;  // arch_prctl's
    return has_vectors() && __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

// float32: rows [chunks][size][32], weight [groups][size][12].
void vectors(const float *rows, const float *weight, const float *bias, long chunks, long groups,
             long size, long block, float *sums) {
    for_all(chunks, groups, block, sums, [=](long number, long chunk, __m512 *total) {
        __m512 logits[WORDS][2];
        start(logits, bias + number * WORDS);
        const float *words = weight + number * size * WORDS;
        const float *here = rows + chunk * size * ROWS;
        for (long place = 0; place < size; ++place, words += WORDS, here += ROWS) {
            const __m512 halves[2] = {_mm512_loadu_ps(here), _mm512_loadu_ps(here + 16)};
#pragma GCC unroll 12
            for (int word = 0; word < WORDS; ++word) {
                const __m512 factor = _mm512_set1_ps(words[word]);
                for (int half = 0; half < 2; ++half)
                    logits[word][half] = _mm512_fmadd_ps(halves[half], factor, logits[word][half]);
            }
        }
        add_powers(logits, total);
    });
}

#define ARGUMENTS                                                                               \
    const uint32_t *rows, const uint32_t *weight, const float *bias, long chunks, long groups, \
        long size, long block, float *sums
#define GIVEN rows, weight, bias, chunks, groups, size, block, sums

void pairs_1(ARGUMENTS) { pair_sums<1>(GIVEN); }
void pairs_2(ARGUMENTS) { pair_sums<2>(GIVEN); }
void tiles_1(ARGUMENTS) { tile_sums<Hardware, 1>(GIVEN); }
void tiles_2(ARGUMENTS) { tile_sums<Hardware, 2>(GIVEN); }
void emulated_1(ARGUMENTS) { tile_sums<Emulated, 1>(GIVEN); }
void emulated_2(ARGUMENTS) { tile_sums<Emulated, 2>(GIVEN); }
}
