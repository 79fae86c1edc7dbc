"""Renders recipe.yaml for the source archive that is its argument: `make recipe`."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from rattler_build import RenderConfig, Stage0Recipe, VariantConfig

archive = Path(sys.argv[1])
os.environ["VERSION"] = archive.name.removeprefix("parse_reranker-").removesuffix(".tar.gz")
os.environ["SHA256"] = hashlib.sha256(archive.read_bytes()).hexdigest()

recipe = Stage0Recipe.from_file(str(Path(__file__).with_name("recipe.yaml")))
for variant in recipe.render(VariantConfig(), RenderConfig()):
    print(json.dumps(variant.recipe.to_dict(), indent=2))
