"""Maps lines of the event contract, one JSON object per line of the input, by the contract's own SDK.

Each line of the output is the event that came of a line: its class and its fields, or null where the SDK has none.
"""

import importlib.util
import json
import os
import sys
import types

# Logging must not come between the answers.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

# Of the package only the mapper is wanted: its own __init__ loads clients of databases and models that are not here.
found = importlib.util.find_spec("projectdavid")
assert found is not None and found.submodule_search_locations is not None
package = types.ModuleType("projectdavid")
package.__path__ = list(found.submodule_search_locations)
sys.modules["projectdavid"] = package

from projectdavid.clients.synchronous_inference_wrapper import SynchronousInferenceStream  # noqa: E402

stream = SynchronousInferenceStream(None)
for line in sys.stdin.buffer:
    event = stream._map_chunk_to_event(json.loads(line))
    told = None if event is None else {"event": type(event).__name__, "fields": vars(event)}
    answers.write(json.dumps(told) + "\n")
answers.close()
