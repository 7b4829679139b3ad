#!/bin/bash -eu
# Builds the compiled modules with the sanitizer of the environment ($CC, $CFLAGS), and one fuzzer for each target, with
# its seeds and its words.
python3 -m pip install --no-build-isolation -e '.[corpus]'

for target in $(python3 -m fuzz list); do
    cat >"$SRC/fuzz_$target.py" <<PYTHON
import sys

import atheris

with atheris.instrument_imports(include=["bpetite"]):
    from fuzz.targets import TARGETS

atheris.Setup(sys.argv, TARGETS["$target"].one)
atheris.Fuzz()
PYTHON
    compile_python_fuzzer "$SRC/fuzz_$target.py" --paths "$SRC/bpetite" --collect-submodules fuzz \
        --collect-submodules bpetite --collect-data bpetite --add-data "$SRC/bpetite/fuzz/found:fuzz/found"
    mkdir -p "$WORK/$target"
    python3 -m fuzz "$target" --write-corpus "$WORK/$target" --write-words "$OUT/fuzz_$target.dict"
    zip -qj "$OUT/fuzz_${target}_seed_corpus.zip" "$WORK/$target"/*
done
