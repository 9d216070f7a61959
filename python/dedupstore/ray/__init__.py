"""Seen-sets on a Ray cluster, for when one machine is not enough.

`SeenSetActors` divides keys among actors, each with a durable store of its own. `MapReduceFilter` is
the streaming quotient filter of Dutta et al. (2013), §5.3. `new_lines` deduplicates a corpus against
a store that is only read.
"""

from .actors import SeenSetActors
from .corpus import new_lines
from .map_reduce import MapReduceFilter

__all__ = ["MapReduceFilter", "SeenSetActors", "new_lines"]
