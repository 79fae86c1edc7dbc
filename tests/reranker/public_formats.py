"""Small files in public formats of the field, as tests meet them: name, what a message calls it,
content. Written for these tests after the formats' descriptions."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
from typing import NamedTuple


class Example(NamedTuple):
    """A file."""

    name: str
    looks_like: str
    content: bytes


def _zipped(*names: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name in names:
            file.writestr(name, "content")
    return archive.getvalue()


_TREE = "(ROOT (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"

_UD = """# sent_id = 1
# text = It runs.
1\tIt\tit\tPRON\tPRP\tPerson=3\t2\tnsubj\t_\t_
2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""

_TEXTS = {
    "CoreNLP's XML": {
        "corenlp.xml": """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet href="CoreNLP-to-HTML.xsl" type="text/xsl"?>
<root>
  <document>
    <sentences>
      <sentence id="1">
        <tokens><token id="1"><word>It</word><POS>PRP</POS></token></tokens>
        <parse>(ROOT (S (NP (PRP It)) (VP (VBZ runs)) (. .))) </parse>
      </sentence>
    </sentences>
  </document>
</root>
""",
    },
    "CoreNLP's JSON": {
        "corenlp.json": json.dumps({
            "sentences": [{"index": 0, "parse": _TREE, "tokens": [{"word": "It"}]}]}, indent=2),
    },
    "trees beside other columns": {
        "sentence-tree.tsv": f"It runs .\t{_TREE}\nThe dog (a big one) ran .\t{_TREE}\n",
        "tree-sentence.tsv": "(S (NP (CD 1)) (VP (VBZ runs)))\tOne runs .\n",
        "id-sentence-tree.tsv": f"1\tIt runs .\t{_TREE}\t0.5\n",
        "templates.tsv": "It runs .\t(ROOT (S (NP ) (VP ) (. )))\n" * 3,
        "sentence-tree.txt": f"It runs . ||| {_TREE}\n",
        "sentence-tree.csv": f'"It runs .","{_TREE}"\n',
        "linearised.tsv": "It runs .\t(S (NP XX )NP (VP XX )VP . )S\n",
        "grep-n.txt": f"a.mrg:1: {_TREE}\na.mrg:2:{_TREE}\n",
        "names.txt": f"wsj_0001.1 {_TREE}\nwsj_0001.2 {_TREE}\n",
        "rerank-grep.tsv": "a.mrg:1\t-\tLet\tthe dough\trest .\t(NP (DT the) (NN dough))\n"
        "a.mrg:1\t-\tLet the\tdough\trest .\t(NN dough)\n",
    },
    "the NEGRA export format": {
        "negra.export": """#FORMAT 3
%% word\t\ttag\tmorph\tedge\tparent
#BOS 1 0 1098266456 1
Sie\t\tPPER\t3.Sg\tSB\t500
lief\t\tVVFIN\t3.Sg\tHD\t500
.\t\t$.\t--\t--\t0
#500\t\tS\t--\t--\t0
#EOS 1
""",
        "numbers.export": "#FORMAT 3\n#BOS 1 0 0 0\n"
        "1998\t\t\tCARD\t\t--\t\tNK\t500\nHunde\t\t\tNN\t\t--\t\tNK\t500\n"
        "#500\t\t\tNP\t\t--\t\t--\t0\n#EOS 1\n",
    },
    "TigerXML": {
        "tiger.xml": """<corpus id="test">
<body>
<s id="s1">
<graph root="s1_500">
<terminals>
<t id="s1_1" word="Sie" pos="PPER" />
<t id="s1_2" word="lief" pos="VVFIN" />
</terminals>
<nonterminals>
<nt id="s1_500" cat="S"><edge label="SB" idref="s1_1" /><edge label="HD" idref="s1_2" /></nt>
</nonterminals>
</graph>
</s>
</body>
</corpus>
""",
    },
    "annotation in columns (CoNLL, brat)": {
        "ud.conllu": _UD,
        "x.conll": """1\tIt\t_\tPRP\tPRP\t_\t2\tSBJ\t_\t_
2\truns\t_\tVBZ\tVBZ\t_\t0\tROOT\t_\t_
""",
        "conll2005.txt": "It          -      (A0*)\nruns        run    (V*)\n"
        "fast        -      (AM*)\n.           -      *\n",
        "prop.txt":
            "wsj/00/wsj_0001.mrg 0 8 gold join-v join.01 vf--a 0:2-ARG0 8:0-rel 9:1-ARG1\n"
        "wsj/00/wsj_0001.mrg 1 10 gold publish-v publish.01 p---p 10:0-rel 11:0*12:1-ARG0\n",
        "notes.ann": "T1\tPerson 0 2\tIt\nT2\tEvent 3 7\truns\nR1\tAgent Arg1:T2 Arg2:T1\n",
    },
    "CoNLL-2012 columns": {
        "v4_gold_conll": """#begin document (bc/test/00/test_0000); part 000
bc/test/00/test_0000   0   0     It    PRP  (TOP(S(NP*)   -   -   -   Speaker#1   *   (0)
bc/test/00/test_0000   0   1   runs    VBZ      (VP*)   run  01   1   Speaker#1   *    -
bc/test/00/test_0000   0   2      .      .       *))    -   -   -   Speaker#1   *    -

#end document
""",
    },
    "a table (TSV, CSV, a word and its tag on each line)": {
        "conll2003.txt": """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC
calls NNS I-NP O
. . O O
""",
        "conll2000.txt": "It PRP B-NP\nruns VBZ B-VP\nfast RB B-ADVP\n. . O\n",
        "suite.csv": 'id,sentence,label\n1,"It runs, and stops.",1\n2,He ran.,0\n3,She left.,1\n',
        "german.csv": "id;satz;label\n1;Sie lief.;1\n2;Er lief.;0\n",
        "cola.tsv":
            "gj04\t1\t\tOur friends won't buy this.\ngj04\t1\t\tOne more and I'm giving up.\n"
        "gj04\t0\t*\tThey drank the pub.\n",
        "leipzig.txt": "1\tIt runs.\n2\tThe dog barks.\n3\tShe left early.\n",
        "vertical.txt": "It PRP\nruns VBZ\nfast RB\n. .\n",
        "vectors.txt": "".join(
            f"{word} {' '.join(['0.125', '-1.5e-02'] * 5)}\n" for word in ("the", "of", "to")),
        "moses.nbest": "0 ||| it runs . ||| LM0= -12.5 WordPenalty0= -3 ||| -1.25\n"
        "0 ||| it ran . ||| LM0= -13 ||| -2\n",
    },
    "trees or graphs in another notation": {
        "amr.txt": """# AMR release; corpus: test; section: dev
# ::id test.1 ::date 2014-06-16
# ::snt The boy wants to go.
(w / want-01
   :ARG0 (b / boy)
   :ARG1 (g / go-02
            :ARG0 b))
""",
        "one-line.amr": "(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))\n",
        "sinica.parse":
            "#1:1.[0] S(agent:NP(Head:Nhaa:\u4ed6)|Head:VC2:\u8dd1|aspect:Di:\u4e86)#\u3002"
        "(PERIODCATEGORY)\n"
        "#2:1.[0] NP(property:Nab:\u66f8|Head:Nab:\u5305)#\n",
        "ewt.cgel": """# tree_id = test-01
# sent_id = test-01
# text = It runs.
# sent = It runs
(Clause
    :Subj (NP
        :Head (Nom
            :Head (N_pro :t "It" :l "it")))
    :Head (VP
        :Head (V :t "runs" :l "run" :p ".")))
""",
        "one-line.cgel":
            '(Clause :Subj (NP :Head (N_pro :t "It")) :Head (VP :Head (V :t "runs")))\n',
        "trees.discbracket":
            "(S (NP (PRP 0=It)) (VP (VBZ 1=runs)) (. 2=.))\n(S (VP (VB 0=Run)) (. 1=.))\n",
        "wsj_0001.auto": "ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1\n"
        "(<T S[dcl] 1 2> (<L NP PRP PRP It NP>) (<L S[dcl]\\NP VBZ VBZ runs S[dcl]\\NP>) )\n",
        "test.onf":
            """------------------------------------------------------------------------------

Plain sentence:
---------------
    It runs.

Treebanked sentence:
--------------------
    It runs .

Tree:
-----
    (TOP (S (NP-SBJ (PRP It))
            (VP (VBZ runs))))
""",
        "deps-dotted.txt": "nsubj(runs-2.1, It-1)\nroot(ROOT-0, runs-2.1)\npunct(runs-2, ,-3)\n",
        "deps-line.txt": "nsubj(runs-2, It-1) ; root(ROOT-0, runs-2), nmod:of(a-1', b-2)\n",
        "deps-joined.txt": "nsubj(runs-2, It-1) root(ROOT-0, runs-2)\n",
        "deps.txt": "nsubj(runs-2, It-1)\nroot(ROOT-0, runs-2)\nadvmod(runs-2, fast-3)\n",
        "cg3.txt": '"<It>"\n\t"it" PRON @SUBJ\n"<runs>"\n\t"run" V PRS @FMV\n',
        "patterns.tregex": "VP < (NP $+ PP)\n/^VB/ > VP=x & !<< S\n",
        "square.txt": "[S [NP It] [VP runs]]\n[S\n  [VP Go]]\n",
        "qtree.tex": "\\Tree [.S [.NP It ] [.VP runs ] ]\n",
    },
    "JSON": {
        "syntaxgym.json": json.dumps(
            {
                "meta": {"name": "agreement", "metric": "sum"},
                "region_meta": {"1": "Subject", "2": "Verb"},
                "items": [{"item_number": 1, "conditions": [{"condition_name": "match"}]}],
            },
            indent=1,
        ),
        "blimp.jsonl": '{"sentence_good": "Many girls run.", "sentence_bad": "Many girls runs."}\n'
        '{"sentence_good": "He ran.", "sentence_bad": "He runned."}\n',
        "strings.json": '["It runs.", "He said \\"no\\"."]',
    },
    "HTML or XML": {
        "page.html": "<!DOCTYPE html>\n<html><head><title>A page</title></head>\n"
        "<body><p>It runs.</p></body></html>\n",
        "part.html": "<p>It runs.</p>\n<p>He <b>ran</b> home.</p>\n",
        "tei.xml":
            '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><p>It runs.</p></text></TEI>\n',
        "graph.graphml":
            '<?xml version="1.0"?>\n<graphml><graph id="G"><node id="n0"/></graph></graphml>\n',
        "gigaword.sgml":
            '<DOC id="TEST_ENG_1" type="story" >\n<HEADLINE>\nA headline\n</HEADLINE>\n'
            "<TEXT>\n<P>\n"
        "It runs.\n</P>\n</TEXT>\n</DOC>\n",
        "wiki.txt":
            '<doc id="1" url="https://example.org" title="Dog">\nDog\n\nThe dog is a mammal. '
        + "It runs and it barks. " * 20
        + "\n</doc>\n",
    },
    "words with tags (word/TAG)": {
        "brown.pos":
            "The/at Fulton/np-tl County/nn-tl Grand/jj-tl Jury/nn-tl said/vbd Friday/nr it/pps "
        "runs/vbz ./.\n",
        "stanford.tagged": "It_PRP runs_VBZ fast_RB ._.\n",
        "wsj_0001.pos": "======================================\n\n[ It/PRP ]\nruns/VBZ ./.\n",
    },
    "encoded or quoted mail, subtitles or a transcript": {
        "film.srt": "1\n00:00:01,000 --> 00:00:02,500\nIt runs.\n\n2\n"
        "00:00:03,000 --> 00:00:04,000\nIt stops.\n",
        "film.vtt": "WEBVTT\n\n00:01.000 --> 00:02.500\nIt runs.\n\n00:03.000 --> 00:04.000\n"
        "Yes.\n",
        "film.sbv": "0:00:01.000,0:00:02.500\nIt runs.\n\n0:00:03.000,0:00:04.000\nYes.\n",
        "mail-qp.txt":
            "He said =E2=80=9Cno=E2=80=9D and left the=\n house. It cost 5=20\npounds.\n",
        "mail-latin.txt":
            "He left the caf=E9 and went home with his two old friends from the=\n town.\n",
        "quoted.txt": "Hi,\n\n> I saw the cat\n> on the mat.\n>\n> It ran.\n",
        "child.cha": "@UTF8\n@Begin\n@Languages:\teng\n*CHI:\tmore cookie .\n"
        "%mor:\tqn|more n|cookie .\n@End\n",
        "talk.TextGrid":
            'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 2.3\n',
    },
    "LaTeX, settings or program code": {
        "paper.tex":
            "% A paper\n\\documentclass{article}\n\\begin{document}\nIt runs.\n\\end{document}\n",
        "papers.bib": "@article{doe2020,\n  title = {It runs},\n  year = {2020}\n}\n",
        "lm.arpa": "\\data\\\nngram 1=3\n\n\\1-grams:\n-1.0\tthe\n\\end\\\n",
        "config.yaml": "model:\n  name: doc\n  layers: 3\ndata:\n  - train.mrg\n  - dev.mrg\n",
        "config.toml": '[model]\nname = "doc"\nlayers = 3\n\n[data]\ntrain = "train.mrg"\n',
        "script.py": "import sys\n\n\ndef main(name):\n    for line in open(name):\n"
        "        print(line)\n\n\nmain(sys.argv[1])\n",
        "main.c": "#include <stdio.h>\n\nint main(void) {\n    puts(\"It runs.\");\n"
        "    return 0;\n}\n",
    },
    "an office document": {
        "notes.rtf": "{\\rtf1\\ansi\\deff0 {\\fonttbl{\\f0 Times;}} It runs.}",
    },
    "a pointer of Git LFS": {
        "pointer.txt":
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n",
    },
}  # fmt: skip
_BINARY = {
    "a compressed file": {
        "packed.txt.bz2": b"BZh91AY&SY" + bytes(range(256)),
    },
    "PDF or PostScript": {
        "paper.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    },
    "an office document": {
        "letter.docx": _zipped("word/document.xml"),
    },
    "an archive (ZIP, tar, 7-Zip, RAR)": {
        "archive.zip": _zipped("a.txt"),
    },
    "a checkpoint": {
        "checkpoint.pt": _zipped("archive/data.pkl"),
        "model.safetensors": (40).to_bytes(8, "little")
        + b'{"w": {"dtype": "F32", "shape": [1]}}   '
        + bytes(4),
    },
    "binary data": {
        "data.pickle": pickle.dumps({"words": ["It", "runs"]}),
        "table.parquet": b"PAR1\x15\x04\x15\x10" + bytes(40) + b"PAR1",
        "image.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "film.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF",
        "noise.bin": bytes(range(256)) * 4,
    },
    "UTF-16 or another encoding than UTF-8": {
        "utf16.txt": "It runs. He ran.\n".encode("utf-16"),
        "unmarked16.txt": "It runs. He ran.\n".encode("utf-16-le"),
        "gbk.txt": ("\u4ed6\u8dd1\u4e86\u3002\n" * 40).encode("gbk"),
    },
}
WRITTEN = [
    Example(name, kind, content.encode())
    for kind, contents in _TEXTS.items()
    for name, content in contents.items()
]
OTHER = WRITTEN + [
    Example(name, kind, content)
    for kind, contents in _BINARY.items()
    for name, content in contents.items()
]
"""Neither text nor trees in brackets."""

TREEBANKS = [
    each
    for each in WRITTEN
    if each.name
    in (
        "corenlp.xml",
        "corenlp.json",
        "negra.export",
        "numbers.export",
        "tiger.xml",
        "v4_gold_conll",
    )
] + [Example("stanza.conllu", "CoNLL-U with trees", f"# constituency = {_TREE}\n{_UD}".encode())]
"""Trees of one sentence that are read."""

LISTS = [
    Example(name, "n-best lists", content.encode())
    for name, content in {
        "bllip.txt": f"1\t0\n-30.5\n{_TREE}\n\n",
        "bllip-python.txt": f"1 0\n-30.5\n{_TREE}\n",
        "choe.txt": f"1\n41.25\n{_TREE}\n\n",
        "berkeley-nan.txt": f"nan\t{_TREE}\n-Infinity\t{_TREE}\n-4.5E-3\t{_TREE}\n",
        "berkeley.txt": f"-41.25\t{_TREE}\n-43.5\t{_TREE}\n\n",
        "rnng.txt": "0 ||| -14.5 ||| (S (NP It ) (VP runs ) . )\n",
        "corenlp.txt": f"# Parse 1 with score -23.5\n{_TREE}\n\n",
        "fairseq.txt": "S-0\tIt runs .\nH-0\t-0.3\t(S (NP XX )NP (VP XX )VP . )S\nP-0\t-1.0 -2.0\n",
        "ranked.jsonl": json.dumps({"id": "0", "candidates": [{"tree": _TREE, "score": -1}]})
        + "\n",
    }.items()
]
TREES = [
    Example("wsj_0001.mrg", "trees",
        b"( (S \n    (NP-SBJ (PRP It))\n    (VP (VBZ runs))\n    (. .) ))\n"),
    Example("chinese.fid", "trees",
        "( (IP (NP-SBJ (PN \u4ed6)) (VP (VV \u8dd1) (AS \u4e86))))\n".encode()),
    Example("historical.psd", "trees",
        b"( (IP-MAT (CONJ And)\n\t  (NP-SBJ (PRO I)\t(N self))\n\tand (NP (N saga))\n"
        b"\t  (VBD ran))\n  (ID X,.1))\n"),
    Example("bare.mrg", "trees", b"(S (NP The dog\n       and (NP (NP the cat) (PP of it)))\n"
            b"   (VP ran (ADVP (RB far))))\n"),
    Example("on-a-line.mrg", "trees", b"(S (NP (PRP It)) (VP (VBZ runs)))\t(S (VP (VB Go)))\n"),
    Example("french.mrg", "trees", b"(SENT (NP-SUJ (CLS Il)) (VN (V court)))\n"),
    Example("seq2seq.txt", "trees", b"(S (NP XX )NP (VP XX )VP . )S\n(S (VP XX )VP . )S\n"),
]  # fmt: skip
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this
corpus and associated documentation files (the "Corpus"), to deal in the Corpus without
restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Corpus, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies.
"""
LATE = [
    Example(f"late-{each.name}", each.looks_like, (MIT.encode() + b"\n" + each.content * 12))
    for each in OTHER
    if each.name
    in ("ud.conllu", "negra.export", "v4_gold_conll", "amr.txt", "ewt.cgel", "sinica.parse")
]  # fmt: skip
"""Files with a licence first."""
PACKED = gzip.compress(OTHER[0].content)

TEXTS = {
    "one sentence": "It runs.",
    "one word": "Yes",
    "remarks": "(Applause)\n(Laughter) Thank you (very much).\n",
    "brackets": "The man (the one [who (so they say) lied]) left. (See (a) and (b).)\n",
    "a tree in prose":
        "We write (S (NP (PRP It)) (VP (VBZ runs))) for the tree of this sentence here.",
    "trees in prose":
        f"We draw {_TREE} so.\nIt is {_TREE} to us.\nSo we say (see the first (or second) one).\n",
    "footnotes": "[1] The cat sat.\n[2] The dog ran.\n",
    "footnote": "[1]",
    "citations": "As shown before [1, 2], it works (Smith, 2010; Doe, 2012).\n",
    "quotes": '"Hello," she said. "It runs."\n"Yes."\n"No."\n',
    "numbers": "1. First, mix it.\n2. Then, bake it.\n3. Eat it.\n",
    "figures": "In 2019, 1,234,567 people, 3.5% of all, left. 12 monkeys ran.\n",
    "a number": "42\n",
    "square brackets": "[Laughter] He said so [in 1990]. [She] left.\n[Applause]\n",
    "entities": "Tom &amp; Jerry didn&#39;t say &quot;no&quot;.\nThey left.\n",
    "an entity": "Write &amp; for the sign.\n",
    "an equation": "We set x =\ny and a=20 or b=30, so E=C2.\n",
    "an arrow": "He smiled.\n> she left\nThey sang.\nIt rained.\n",
    "0 errors": "0 errors\n",
    "a count": "3 apples fell.\n",
    "commas":
        "Red, green, blue.\nOne, two, three.\nHere, there, everywhere.\n"
        "Now, then, never.\n",
    "tabs": "\tIt was late.\n\tHe left.\n\tShe stayed.\n",
    "a table in prose":
        "The results follow here.\nThey are good.\nname\tF1\nours\t92.1\n"
        "theirs\t91.0\n"
    "As one can see, ours is better.\nWe discuss why.\nIt is the size.\nIt helps much.\n",
    "code in prose":
        "Call it so:\n\nimport sys\nprint(x)\n\n"
        "Then it prints the words of a line.\nIt ends at once.\n"
    "If it does not, read the manual again.\n",
    "fenced code": "Our files look like this.\n\n```\n1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
    "2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\t_\n```\n",
    "JSON in prose": 'Send {"text": "It runs."} to the server. It answers {"trees": []}.\n',
    "dialogue": "ALICE: Hello there.\nBOB: Good morning!\nALICE: How are you?\nBOB: Fine.\n",
    "lower dialogue": "alice: hello there\nbob: good morning\nalice: how are you\nbob: fine\n",
    "chat": "<alice> hi\n<bob> hello, how are you?\n<alice> fine\n",
    "language models' words":
        "the <unk> of N <unk> rose N % to $ N <unk>\n"
        "mr. <unk> is <unk> of <unk>\n",
    "markup in prose":
        "Press <b>Enter</b> now, and then wait for a while until the program has ended.\n",
    "poem": "Two roads diverged in a wood, and I;\nI took the one less travelled by;\n"
    "And that has made the difference;\nSo I went on my way that day;\n",
    "poem of four words":
        "THE CAT SAT DOWN\nTHE DOG RAN OFF\nTHE COW LAY STILL\nTHE PIG STOOD UP\n",
    "headings": "# Heading\n\n## Another one\n\n- It runs.\n- It **stops**.\n\n> It said so.\n",
    "front matter":
        "---\ntitle: It runs\ndate: 2020-01-01\n---\n\nIt runs. It really does.\n"
        "He left.\nShe stayed.\n"
    "They came.\n",
    "Markdown table":
        "| a | b |\n|---|---|\n| it | runs |\n\n"
        "The table above shows that it runs.\n",
    "URLs": "https://example.org/one/two\nhttps://example.org/three\nhttp://example.org/a_b/NN\n",
    "slashes": "He and/or she came in 24/7 style. Input/output is either/or.\n",
    "list": "apples\npears\nplums and cherries\nbread\n",
    "recipe": "Time: 20 minutes\nServes: 4\n\nMix the flour, the eggs and the milk. Bake it.\n",
    "mail": "From: Ann\nTo: Bob\nSubject: Hello\n\nDear Bob,\n\nIt runs. Do come.\n\nAnn\n",
    "stage": "[Music]\n[Applause]\nx = 5 is what he wrote.\n",
    "times": "At 00:01:02 it began. At 10:30 it ended.\n",
    "less than": "P < 0.05 was significant. A > B, too.\n",
    "hashes": "#blessed and #happy today\n#1 in the charts\n@bob see you @ nine\n",
    "Chinese": "\u4ed6\u8dd1\u4e86\u3002\u5979\u8d70\u4e86(\u4eca\u5929)\u3002\n",
    "Arabic": "\u0647\u0648 \u064a\u0631\u0643\u0636. \u0647\u064a \u0630\u0647\u0628\u062a.\n",
    "Indonesian": "Dia berlari (kemarin). Saya tidak tahu, katanya.\n",
    "Latin-1 names": "Mr Fran\udce7ois met Mrs Gr\udcfcn. They left.\n",
    "CSV by a comma": "first,second\n",
    "verse lines":
        "1 In the beginning God created the heaven and the earth.\n"
        "2 And the earth was void.\n",
    "a licence": MIT,
}  # fmt: skip
"""Text, however odd."""
