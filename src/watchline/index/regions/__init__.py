"""Regions of any form in an index: which of them hold a point, and which does a move change.

region_index.py  the class, tuning           geometries.py  shapely, WKB, points -> columns
geoarrow.py      Arrow columns -> shapely
holdings.py      regions by slot             forms.py       the fixed formulas
sheet.py         values to cells             entries.py     what a cell knows of a region
marks.py         marks of a window           tree.py        cells in cells, and their lists
marking.py       one region on some cells    earth_marking.py  circles and corridors on Earth
stabbing.py      searches                    moves.py       changes from cell to cell
extents.py       where regions are           pairs.py       a point and a region, with all its edges

The geometry stands in `forms`, the two of marking, `extents` and `sheet`: the tree, its lists and
the searches know words and cells alone, so that other forms and another surface need other marks
and nothing else.
"""

from watchline.index.regions.extents import extent_of as extent_of
from watchline.index.regions.forms import CIRCLE as CIRCLE
from watchline.index.regions.forms import CORRIDOR as CORRIDOR
from watchline.index.regions.forms import EARTH_CIRCLE as EARTH_CIRCLE
from watchline.index.regions.forms import EARTH_CORRIDOR as EARTH_CORRIDOR
from watchline.index.regions.forms import POLYGON as POLYGON
from watchline.index.regions.geoarrow import shapes_of_arrow as shapes_of_arrow
from watchline.index.regions.geometries import RegionColumns as RegionColumns
from watchline.index.regions.geometries import RegionsRead as RegionsRead
from watchline.index.regions.geometries import earth_circles as earth_circles
from watchline.index.regions.geometries import joined_columns as joined_columns
from watchline.index.regions.geometries import read_regions as read_regions
from watchline.index.regions.geometries import runs as runs
from watchline.index.regions.geometries import with_radii as with_radii
from watchline.index.regions.geometries import with_vectors as with_vectors
from watchline.index.regions.geometries import without_vectors as without_vectors
from watchline.index.regions.moves import RegionChanges as RegionChanges
from watchline.index.regions.pairs import region_holds as region_holds
from watchline.index.regions.region_index import RegionIndex as RegionIndex
from watchline.index.regions.region_index import build_regions as build_regions
from watchline.index.regions.region_index import region_cost as region_cost
