"""Sentences as people write them to each other: chat, thanks, amounts."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from reranker.plugins.augmenting.rewriting import (
    addressed,
    constituents,
    is_ragged,
    labels,
    leaf,
    lowered,
    marked,
    phrase,
    respelled,
    rewritten,
    subtrees,
    with_first_word,
    without_mark,
    word,
)
from reranker.trees.tree import Tree

_PERSONAL = frozenset({"i", "you", "we", "your", "my", "hi", "hey", "okay", "thanks"})
_UNFIT = frozenset({"``", "''", "-LRB-", "-RRB-"})
_SHORT = {
    "about": ["abt", "about"],
    "are": ["r", "are"],
    "because": ["cuz", "cos", "bc"],
    "before": ["b4", "before"],
    "great": ["gr8", "great"],
    "know": ["kno", "know"],
    "minutes": ["mins"],
    "okay": ["ok", "k"],
    "people": ["ppl"],
    "please": ["pls", "plz"],
    "probably": ["prob", "prolly"],
    "really": ["rly", "really"],
    "something": ["smth", "something"],
    "sorry": ["sry", "sorry"],
    "thanks": ["thx", "thanks", "tnx"],
    "them": ["em", "them"],
    "though": ["tho"],
    "tomorrow": ["tmrw", "tomorrow"],
    "tonight": ["2nite", "tonite", "tonight"],
    "with": ["w/", "with"],
    "yes": ["yea", "yeah", "yep", "ya"],
    "you": ["u"],
    "your": ["ur", "your"],
}
_EMOJI = [*"😂😀😊😍😭👍🙏🎉🔥🙄😅🤔", ":-RRB-", ";-RRB-", ":D", "<3", "xD"]
_LAUGHS = ["lol", "haha", "tbh", "omg", "lmao", "hahaha", "xx"]


def chat(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Write a short sentence that speaks of *I* or *you* in small letters, without apostrophes,
    with short spellings, and with an emoji, a hashtag or *lol* at the end of some."""
    found = without_mark(tree)
    said = {each.lower() for each in tree.words()}
    if not found or len(said) > 16 or not said & _PERSONAL or _UNFIT & {*tree.tags()}:
        return
    sentence, mark = found
    is_short = draw.random() < 0.6

    def spell(tag: str, text: str) -> str:
        if tag.startswith("NNP") and draw.random() < 0.4:
            return text
        small = text.lower()
        small = draw.choice(_SHORT.get(small, [small])) if is_short else small
        return small.replace("'", "").replace("\u2019", "") or small

    written = respelled(rewritten(sentence, _joined), spell)
    children = [*subtrees(written)]
    kind = draw.random()
    if kind < 0.12:
        children.append(phrase("INTJ", leaf("UH", draw.choice(_LAUGHS))))
    is_question = mark == "?"
    shares = {"?": 0.5, "": 0.5} if is_question else {"": 0.8, "!": 0.1, "!!": 0.05, ".": 0.05}
    children += marked(draw, shares)
    if 0.12 <= kind < 0.3:
        children += [leaf("SYM", draw.choice(_EMOJI))] * draw.choice([1, 1, 1, 2, 3])
    elif 0.3 <= kind < 0.36 and (nouns := _nouns(sentence)):
        children.append(phrase("NP", leaf("NNP", f"#{draw.choice(nouns)}")))
    yield phrase("TOP", phrase(written.label, *children))


def _nouns(tree: Tree) -> list[str]:
    nodes = [node for node in tree.preorder() if node.label in ("NN", "NNS", "NNP")]
    return [word(node).lower() for node in nodes if word(node).isalpha()]


def _joined(node: Tree) -> Tree:
    """Return a constituent in which short forms are written with the word before them: (MD ca) (RB
    n't) is (MD cant), and a pronoun's short verb leaves the verb phrase: *I 'm* is *Im*."""
    children: list[Tree] = []
    for child in subtrees(node):
        before = children[-1] if children else child
        verb = next(iter(subtrees(child)), child) if child.label == "VP" else child
        if word(child).lower() == "n't" and word(before):
            children[-1] = leaf(before.label, f"{word(before).lower()}nt")
        elif before.tags() in (["PRP"], ["WP"]) and word(verb) in _CLITICS and before != child:
            children[-1:] = _spoken(before, child, word(verb))
        else:
            children.append(child)
    return phrase(node.label, *children) if children else node


def _spoken(subject: Tree, verbs: Tree, verb: str) -> list[Tree]:
    """Return a pronoun's phrase and a verb phrase, or a verb, after the short verb moved."""
    whole = with_first_word(subject, lambda _, own: own + verb)
    rest = subtrees(verbs)[1:] if verbs.label == "VP" else ()
    if [each.label for each in rest] == ["VP"]:
        return [whole, *rest]
    return [whole, phrase("VP", *rest)] if rest else [whole]


_CLITICS = frozenset({"'m", "'re", "'s", "'ve"})
_UNITS = {"minutes": "mins", "hours": "hrs", "seconds": "secs", "pounds": "lbs"}


def amounts(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Write numbers before plural nouns as ranges, and some units short: *for 20 minutes* becomes
    *for 20 - 25 mins*."""
    is_changed = False

    def change(node: Tree) -> Tree:
        nonlocal is_changed
        if node.label != "NP" or labels(node)[:2] != ["CD", "NNS"]:
            return node
        is_changed = True
        unit, *others = subtrees(node)[1:]
        low = draw.choice([2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40])
        high = low + draw.choice([1, 2, 5, 10])
        dash = leaf("SYM", draw.choice(["-", "-", "\N{EN DASH}"]))
        numbers = phrase("QP", leaf("CD", str(low)), dash, leaf("CD", str(high)))
        if draw.random() < 0.5:
            unit = respelled(unit, lambda _, text: _UNITS.get(text, text))
        return phrase("NP", numbers, unit, *others)

    made = rewritten(tree, change)
    if is_changed:
        yield made


def thanks(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Give thanks for the object of *for*: *(Thanks) (in advance) (for your help)*."""
    for node, _ in constituents(tree):
        if labels(node) not in (["IN", "NP"], ["IN", "S"]) or not 2 <= len(node.words()) <= 8:
            continue
        preposition, object_ = subtrees(node)
        tag = object_.tags()[0]
        is_wrong = tag in ("CD", "$", "EX") if object_.label == "NP" else tag != "VBG"
        if word(preposition).lower() != "for" or node.label != "PP" or is_wrong or is_ragged(node):
            continue
        given = leaf("NNS", draw.choice(["Thanks", "Thanks", "thanks", "Thx"]))
        in_advance = phrase("PP", leaf("IN", "in"), phrase("NP", leaf("NN", "advance")))
        between = [in_advance] if draw.random() < 0.35 else []
        end = marked(draw, {"": 0.35, ".": 0.3, "!": 0.35})
        parts = [*between, lowered(addressed(node, draw)), *end]
        yield phrase("TOP", phrase("NP", phrase("NP", given), *parts))
