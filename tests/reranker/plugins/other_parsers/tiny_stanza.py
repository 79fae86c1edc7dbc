"""A folder of Stanza's models: a tagger, trained for a moment, and a constituency parser."""

from __future__ import annotations

import json
import random
from pathlib import Path

from reranker.outputs.conllu import to_conllu
from reranker.ranking.sentence import ParsedSentence
from reranker.trees.tree import Tree

LANGUAGE = "en"
_SUBJECTS = ("(NP (PRP We))", "(NP (DT the) (NN man))", "(NP (PRP it))", "(NP (NNS eyes))")
_VERBS = ("(VBD saw)", "(VBZ is)", "(VBD met)")


def build(folder: Path) -> None:
    """Make the models from toy sentences, and lay them out as Stanza's downloads are."""
    from stanza.models import constituency_parser, tagger
    from stanza.models.common.foundation_cache import FoundationCache
    from stanza.models.common.pretrain import Pretrain
    from stanza.models.constituency.parser_training import build_trainer
    from stanza.models.constituency.tree_reader import read_treebank

    trees = [
        Tree.from_string(f"(ROOT (S {subject} (VP {verb} {thing}) (. .)))")
        for subject in _SUBJECTS
        for verb in _VERBS
        for thing in _SUBJECTS
    ]
    random.Random(1).shuffle(trees)
    models = folder / LANGUAGE
    for name in ("pos", "constituency", "pretrain"):
        (models / name).mkdir(parents=True)
    vectors, sentences, bracketed = (folder / name for name in ("v.txt", "s.conllu", "t.mrg"))
    words = sorted({word for tree in trees for word in tree.leaves()})
    chance = random.Random(2)
    rows = (f"{word} {' '.join(f'{chance.gauss(0, 1):.3f}' for _ in range(8))}\n" for word in words)
    vectors.write_text(f"{len(words)} 8\n{''.join(rows)}", "utf-8")
    sentences.write_text("".join(map(_tagged, trees)), "utf-8")
    bracketed.write_text("".join(tree.to_string() + "\n" for tree in trees), "utf-8")

    pretrained = str(models / "pretrain" / "tiny.pt")
    Pretrain(pretrained, str(vectors)).load()
    common = ["--lang", LANGUAGE, "--shorthand", f"{LANGUAGE}_tiny", "--cpu"]
    common += ["--wordvec_pretrain_file", pretrained, "--save_name", "tiny.pt", "--save_dir"]
    files = ["--train_file", str(sentences), "--eval_file", str(sentences)]
    sizes = ["--hidden_dim", "16", "--char_hidden_dim", "16", "--deep_biaff_hidden_dim", "16"]
    steps = ["--max_steps", "20", "--eval_interval", "20"]
    tagger.main([*common, str(models / "pos"), *files, *sizes, *steps])
    # Not trained: its training is scored by CoreNLP, in Java.
    sizes = ["--hidden_size", "16", "--no_retag", "--no_multistage", "--no_checkpoint"]
    arguments = constituency_parser.parse_args([*common, str(models / "constituency"), *sizes])
    treebank = read_treebank(str(bracketed))
    trainer, *_ = build_trainer(arguments, treebank, treebank, [], FoundationCache(), "")
    trainer.save(str(models / "constituency" / "tiny.pt"), save_optimizer=False)

    vector_file = [{"model": "pretrain", "package": "tiny"}]
    packages = {"tokenize": "tiny", "pos": "tiny", "constituency": "tiny"}
    resources = {
        "lang_name": "English",
        "packages": {"default": packages},
        "default_processors": packages,
        "pretrain": {"tiny": {}},
        "tokenize": {"tiny": {}},
        "pos": {"tiny": {"dependencies": vector_file}},
        "constituency": {"tiny": {"dependencies": vector_file}},
    }
    (folder / "resources.json").write_text(json.dumps({LANGUAGE: resources}), "utf-8")


def _tagged(tree: Tree) -> str:
    """Return a sentence for the tagger, which needs a dependency tree, too."""
    lines = to_conllu(ParsedSentence("0", tree)).split("\n")
    for place, line in enumerate(lines):
        columns = line.split("\t")
        if len(columns) == 10:
            columns[3], columns[6] = "X", str(int(columns[0]) - 1)
            columns[7] = "root" if columns[6] == "0" else "dep"
            lines[place] = "\t".join([*columns[:9], "_"])
    return "\n".join(line for line in lines if not line.startswith("#"))
