"""``python -m web.wasm``: write build/web/kernels.wasm and its table, where sources changed."""

from __future__ import annotations

import gzip
import json
import time

from web.wasm.build import LIBRARY, build, is_current

if __name__ == "__main__":
    start = time.perf_counter()
    if is_current():
        print(f"{LIBRARY.name} is as new as its sources.")
    else:
        code = build().read_bytes()
        kernels = json.loads(LIBRARY.with_suffix(".json").read_text())["kernels"]
        count = sum(map(len, kernels.values()))
        print(
            f"{LIBRARY.name}: {len(kernels)} kernels, {count} signatures, {len(code):,} B, "
            f"{len(gzip.compress(code)):,} B compressed, {time.perf_counter() - start:.0f} s."
        )
