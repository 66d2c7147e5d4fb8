"""Says which SDK it has, and does what it is told."""

import importlib.metadata

from scenario import given, say, wait_for_line

say("hello", version=importlib.metadata.version("roboto"), given=given)
if wait_for_line() == "fail":
    raise RuntimeError("as it was told")
say("goodbye")
