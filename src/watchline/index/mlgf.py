"""A multilevel grid file: boxes as points of a space with twice the dimensions.

The corner transformation makes of a box the point (lo_1, hi_1, … lo_d, hi_d). Each coordinate is a
*code* of 16 bits (codes.py): boxes of all sizes, one-sided ones and those that overlap are points
alike.

Invariant: a leaf is a region of the code space, cut in two when it is full; the regions of all
leaves are disjoint and cover the space. A directory node has the regions of up to `FANOUT`
children; it, too, is cut in two when full, along a plane that cuts no child (there always is one,
because regions come about by cuts from border to border), so all leaves are equally deep.

Each child also has its *window*: for every dimension the least code of a lower bound and the
greatest of an upper bound below it. A set of values between two codes can only be in boxes of
children whose windows reach them, so a search follows those alone.

A leaf is a chain of pages, seldom longer than one (boxes with one and the same point cannot be cut
apart). The codes of a page's boxes stand side by side, so that all are compared with a window by
vector instructions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.index.codes import CEILING, FLOOR, Scales, scales_of, transform
from watchline.index.table import BoxTable
from watchline.kernels.arrays import Codes, Int, Integers, Small
from watchline.kernels.buffers import longer, with_room
from watchline.kernels.compiled import inner, kernel, leaf, outer_leaf
from watchline.kernels.simd import LANES

# Children of a directory node, and boxes of a page: the bits of a word.
FANOUT = PAGE = LANES


class Tree(NamedTuple):
    """The arrays of the directory and the pages."""

    # The root, the height (1: its children are leaves), nodes and pages in use.
    state: Integers
    # By node: children, their number, the parent.
    child: Small
    size: Small
    parent: Small
    # By node, side and child: the region's first and last codes, and the window.
    first: Codes
    last: Codes
    window: Codes
    # By page: how many boxes it has, the next page of the chain, the node above (of a first page).
    filled: Small
    next: Small
    above: Small
    # By page and box: slot and id; by page, side and box: the point.
    slots: Small
    ids: Integers
    codes: Codes
    # By slot: the point, and the leaf.
    points: Codes
    leaves: Small


ROOT, HEIGHT, NODES, PAGES = range(4)


class MultilevelGridFile:
    """Boxes of a table by slot; `tree` and `scales` are what kernels search."""

    def __init__(self, dims: int):
        self.dims = dims
        self.clear()

    def clear(self) -> None:
        # How many boxes the scales were made for, and how many were entered, these included.
        self.built_for = self.entered = 0
        # The dimensions that those bounded, the one that most did first.
        self.dims_by_use: Integers = np.empty(0, np.int64)
        self._make(scales_of(np.empty((0, self.dims)), np.empty((0, self.dims))), 0)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (*self.scales, *self.tree))

    def build(self, boxes: BoxTable) -> None:
        """Anew, with scales for the boxes there are."""
        slots = boxes.living()
        lo, hi = boxes.lo[slots], boxes.hi[slots]
        self._make(scales_of(lo, hi), len(boxes.rows))
        used = np.isfinite(lo).sum(axis=0) + np.isfinite(hi).sum(axis=0)
        self.dims_by_use = np.argsort(-used, kind="stable")[: np.count_nonzero(used)]
        self.built_for, self.entered = len(slots), 0
        self.add(slots, boxes)

    def _make(self, scales: Scales, slots: int) -> None:
        sides, nodes, pages = 2 * self.dims, 2, 8
        self.scales = scales
        self.tree = Tree(
            state=np.array([0, 1, 1, 1]),
            child=np.zeros((nodes, FANOUT), np.int32),
            size=np.zeros(nodes, np.int32),
            parent=np.full(nodes, -1, np.int32),
            first=np.zeros((nodes, sides, FANOUT), np.uint16),
            last=np.full((nodes, sides, FANOUT), CEILING, np.uint16),
            window=np.zeros((nodes, sides, FANOUT), np.uint16),
            filled=np.zeros(pages, np.int32),
            next=np.full(pages, -1, np.int32),
            above=np.zeros(pages, np.int32),
            slots=np.empty((pages, PAGE), np.int32),
            ids=np.empty((pages, PAGE), np.int64),
            codes=np.empty((pages, sides, PAGE), np.uint16),
            points=np.empty((slots, sides), np.uint16),
            leaves=np.empty(slots, np.int32),
        )
        # One leaf, which has all there is.
        self.tree.size[0] = 1
        _shut(self.tree.window, 0, 0)

    def add(self, slots: Small, boxes: BoxTable) -> None:
        self.entered += len(slots)
        self._reserve_slots(len(boxes.rows))
        transform(self.scales, self.tree.points, slots, boxes.lo, boxes.hi)
        if len(slots) == 1 and append(self.tree, slots[0], boxes.ids):
            return
        leaves = route(self.tree, slots)
        order = np.argsort(leaves, kind="stable")
        work, stack = gather(self.tree, slots[order], leaves[order], boxes.ids)
        top = len(stack)
        while top:
            stack, top = settle(self.scales, self.tree, work, stack, top, boxes.ids)
            if top:
                self._reserve_pages()

    def discard(self, slots: Small) -> None:
        remove(self.tree, slots)

    def _reserve_slots(self, slots: int) -> None:
        have = len(self.tree.leaves)
        if slots > have:
            self.tree = self.tree._replace(
                points=longer(self.tree.points, slots), leaves=longer(self.tree.leaves, slots)
            )

    def _reserve_pages(self) -> None:
        """Room for half as many nodes and pages again."""
        old = self.tree
        nodes, pages = int(old.state[NODES]), int(old.state[PAGES])
        nodes, pages = 2 * nodes + 8, pages + pages // 2 + 64
        changed: dict[str, Any] = {}
        for name in ("child", "size", "parent", "first", "last", "window"):
            changed[name] = longer(getattr(old, name), nodes)
        for name in ("filled", "next", "above", "slots", "ids", "codes"):
            changed[name] = longer(getattr(old, name), pages)
        self.tree = old._replace(**changed)


# --- windows


@outer_leaf(inline="always")
def _shut(window: Codes, node: int, k: int) -> None:
    """The window of nothing."""
    for side in range(0, window.shape[1], 2):
        window[node, side, k] = CEILING
        window[node, side + 1, k] = FLOOR


@leaf(inline="always")
def _widen(window: Codes, node: int, k: int, side: int, low: int, high: int) -> None:
    window[node, side, k] = min(window[node, side, k], low)
    window[node, side + 1, k] = max(window[node, side + 1, k], high)


@leaf()
def _place_of(tree: Tree, node: int, below: int) -> int:
    """Which child of the node this is."""
    k = 0
    while tree.child[node, k] != below:
        k += 1
    return k


@leaf()
def _widen_path(tree: Tree, page: Int, slot: int) -> None:
    """Let all windows above a leaf reach a point."""
    below, node = page, np.int64(tree.above[page])
    while node >= 0:
        k = _place_of(tree, node, below)
        for side in range(0, tree.points.shape[1], 2):
            low, high = tree.points[slot, side], tree.points[slot, side + 1]
            _widen(tree.window, node, k, side, low, high)
        below, node = node, np.int64(tree.parent[node])


# --- finding the leaf of a point


@kernel
def route(tree: Tree, slots: Small) -> Small:
    """The leaf whose region has each point."""
    leaves = np.empty(len(slots), np.int32)
    for i in range(len(slots)):
        leaves[i] = _leaf_of(tree, slots[i])
    return leaves


@inner
def _leaf_of(tree: Tree, slot: int) -> int:
    node = tree.state[ROOT]
    for _ in range(tree.state[HEIGHT]):
        found = 0
        for k in range(tree.size[node]):
            inside = True
            for side in range(tree.points.shape[1]):
                code = tree.points[slot, side]
                inside &= (tree.first[node, side, k] <= code) & (code <= tree.last[node, side, k])
            if inside:
                found = k
                break
        node = np.int64(tree.child[node, found])
    return node


# --- taking boxes in


@kernel
def append(tree: Tree, slot: int, ids: Integers) -> bool:
    """Enter one box if its leaf has room."""
    page = _leaf_of(tree, slot)
    if tree.next[page] >= 0 or tree.filled[page] == PAGE:
        return False
    _append(tree, page, page, slot, ids)
    return True


@leaf()
def _append(tree: Tree, first: int, page: int, slot: int, ids: Integers) -> None:
    """A box into a page of the leaf that begins with the page `first`."""
    k = np.int64(tree.filled[page])
    tree.filled[page] += 1
    tree.slots[page, k] = slot
    tree.ids[page, k] = ids[slot]
    for side in range(tree.points.shape[1]):
        tree.codes[page, side, k] = tree.points[slot, side]
    tree.leaves[slot] = first
    _widen_path(tree, first, slot)


@kernel
def gather(tree: Tree, slots: Small, leaves: Small, ids: Integers) -> tuple[Small, Integers]:
    """Boxes, ordered by leaf, into those leaves that have room.

    The others are emptied: gives their boxes and the new ones, and for each such leaf its number
    and its run of them. A chain that gets more of its own kind is not emptied.
    """
    work = np.empty(len(slots) + PAGE, np.int32)
    stack = np.empty((64, 3), np.int64)
    taken, top, i = 0, 0, 0
    while i < len(slots):
        page, j = np.int64(leaves[i]), i
        while j < len(slots) and leaves[j] == page:
            j += 1
        if tree.next[page] < 0 and tree.filled[page] + j - i <= PAGE:
            for k in range(i, j):
                _append(tree, page, page, slots[k], ids)
        else:
            start = taken
            chained: Int = page
            if _is_one_point(tree, page, slots[i:j]):
                # There is nothing to cut: the chain keeps its boxes and grows.
                chained = -1
            while chained >= 0:
                count: Int = tree.filled[chained]
                work = with_room(work, taken, count)
                work[taken : taken + count] = tree.slots[chained, :count]
                taken += count
                tree.filled[chained] = 0
                chained = np.int64(tree.next[chained])
            work = with_room(work, taken, j - i)
            work[taken : taken + j - i] = slots[i:j]
            taken += j - i
            stack = with_room(stack, top, 1)
            stack[top, 0], stack[top, 1], stack[top, 2] = page, start, taken
            top += 1
        i = j
    return work[:taken], stack[:top]


@leaf()
def _is_one_point(tree: Tree, page: Int, slots: Small) -> bool:
    """Whether a leaf is a chain and these boxes have the point of its first."""
    if tree.next[page] < 0:
        return False
    while tree.filled[page] == 0:
        page = np.int64(tree.next[page])
        if page < 0:
            return False
    for slot in slots:
        for side in range(tree.points.shape[1]):
            if tree.points[slot, side] != tree.codes[page, side, 0]:
                return False
    return True


@kernel
def settle(
    scales: Scales,
    tree: Tree,
    work: Small,
    stack: Integers,
    top: int,
    ids: Integers,
) -> tuple[Integers, int]:
    """Boxes into empty leaves, which are cut until each has room for its own.

    The stack has leaves, each with its run of `work`. Ends when it is empty, or when there may not
    be enough nodes or pages; gives what is left of it.
    """
    scratch = np.empty(len(work), np.int32)
    while top:
        page, begin, end = stack[top - 1]
        if tree.state[NODES] + tree.state[HEIGHT] + 2 > len(tree.size):
            break
        if tree.state[PAGES] + 2 > len(tree.filled):
            break
        side, plane = -1, 0
        if end - begin > PAGE:
            side, plane = _cut(scales, tree.points, work[begin:end])
        if side < 0:
            taken = _fill(tree, page, work, begin, end, ids)
            stack[top - 1, 1] = taken
            top -= taken == end
            continue
        middle = _part(tree.points, work, scratch, begin, end, side, plane)
        right = _cut_leaf(tree, page, side, plane)
        stack = with_room(stack, top, 1)
        stack[top - 1, 2] = middle
        stack[top, 0], stack[top, 1], stack[top, 2] = right, middle, end
        top += 1
    return stack, top


@inner
def _fill(tree: Tree, first: Int, work: Small, begin: int, end: int, ids: Integers) -> int:
    """Boxes into the chain of a leaf, which grows as long as there are pages; where it ended."""
    page = first
    for i in range(begin, end):
        while tree.filled[page] == PAGE:
            if tree.next[page] < 0:
                if tree.state[PAGES] == len(tree.filled):
                    return i
                tree.next[page] = _new_page(tree)
            page = np.int64(tree.next[page])
        _append(tree, first, page, work[i], ids)
    return end


@leaf()
def _new_page(tree: Tree) -> int:
    page = tree.state[PAGES]
    tree.state[PAGES] += 1
    tree.filled[page] = 0
    tree.next[page] = -1
    tree.above[page] = -1
    return page


# --- cuts

# Points that are looked at to choose a cut.
_LOOK = 256


@inner
def _cut(scales: Scales, points: Codes, slots: Small) -> tuple[int, int]:
    """The side and the plane to cut a leaf of these boxes at; side -1 if they are one point.

    For each side the plane is at the median. The best makes the windows of the halves small: a
    half counts by how many boxes it has and how much of its dimension they reach.
    """
    n, sides = len(slots), points.shape[1]
    step = (n + _LOOK - 1) // _LOOK
    seen = np.empty((n + step - 1) // step, np.uint16)
    best, best_side, best_plane = np.inf, -1, 0
    for side in range(sides):
        for i in range(len(seen)):
            seen[i] = points[slots[i * step], side]
        seen.sort()
        plane: Int = np.int64(seen[len(seen) // 2])
        if plane == seen[0]:
            # All up to the median are alike: the plane is at the first that is not.
            other = np.searchsorted(seen, plane + 1)
            if other == len(seen):
                continue
            plane = np.int64(seen[other])
        cost = _cost(scales, points, slots, step, side, plane)
        if cost < best:
            best, best_side, best_plane = cost, side, plane
    if best_side < 0 and step > 1:
        return _any_cut(points, slots)
    return best_side, best_plane


@inner
def _cost(scales: Scales, points: Codes, slots: Small, step: int, side: int, plane: int) -> float:
    """How many of the boxes a search of this dimension will meet, from 0 to 1."""
    d = side // 2
    count = np.zeros(2)
    low, high = np.full(2, np.int64(CEILING)), np.zeros(2, np.int64)
    for i in range(0, len(slots), step):
        half = np.int64(points[slots[i], side] >= plane)
        count[half] += 1
        low[half] = min(low[half], points[slots[i], 2 * d])
        high[half] = max(high[half], points[slots[i], 2 * d + 1])
    codes = 2 * scales.counts[d] + 3
    reach = np.minimum(high + 1, codes) - np.minimum(low, codes)
    every = min(high.max() + 1, codes) - low.min()
    return (count * reach).sum() / (count.sum() * every)


@inner
def _any_cut(points: Codes, slots: Small) -> tuple[int, int]:
    """A cut that sets some box apart, if there is one."""
    for side in range(points.shape[1]):
        for slot in slots:
            if points[slot, side] != points[slots[0], side]:
                return side, max(points[slot, side], points[slots[0], side])
    return -1, 0


@leaf()
def _part(
    points: Codes, work: Small, scratch: Small, begin: int, end: int, side: int, plane: int
) -> int:
    """Those below the plane first, all else in its order; where the others begin."""
    at, others = begin, 0
    for i in range(begin, end):
        if points[work[i], side] < plane:
            work[at] = work[i]
            at += 1
        else:
            scratch[others] = work[i]
            others += 1
    for i in range(others):
        work[at + i] = scratch[i]
    return at


@inner
def _cut_leaf(tree: Tree, page: int, side: int, plane: int) -> int:
    """Cut the region of an empty leaf; the leaf of its upper part."""
    while tree.size[tree.above[page]] == FANOUT:
        # The highest node that is full and has a parent with room.
        node = np.int64(tree.above[page])
        while tree.parent[node] >= 0 and tree.size[tree.parent[node]] == FANOUT:
            node = np.int64(tree.parent[node])
        _cut_node(tree, node)
    node = np.int64(tree.above[page])
    right = _new_page(tree)
    tree.above[right] = node
    k = _place_of(tree, node, page)
    _shut(tree.window, node, k)
    _copy_child(tree, node, k, right, side, plane)
    return right


@inner
def _copy_child(tree: Tree, node: int, k: int, right: int, side: int, plane: int) -> None:
    """Cut child k's region in two; the upper part belongs to a new child with the same window."""
    new = np.int64(tree.size[node])
    tree.size[node] += 1
    tree.child[node, new] = right
    tree.first[node, :, new] = tree.first[node, :, k]
    tree.last[node, :, new] = tree.last[node, :, k]
    tree.window[node, :, new] = tree.window[node, :, k]
    tree.last[node, side, k] = plane - 1
    tree.first[node, side, new] = plane


@inner
def _cut_node(tree: Tree, node: int) -> None:
    """Cut a full node in two; its parent, a new one above the root, has room for the second."""
    side, plane = _plane(tree, node)
    if tree.parent[node] < 0:
        root = _new_node(tree)
        tree.size[root] = 1
        tree.child[root, 0] = node
        tree.first[root, :, 0] = 0
        tree.last[root, :, 0] = CEILING
        tree.parent[node] = root
        tree.state[ROOT] = root
        tree.state[HEIGHT] += 1
    parent = np.int64(tree.parent[node])
    right = _new_node(tree)
    tree.parent[right] = parent
    lowest = _height_of(tree, node) == 1
    kept, moved = 0, 0
    for k in range(FANOUT):
        upper = tree.first[node, side, k] >= plane
        to, at = (right, moved) if upper else (node, kept)
        below = tree.child[node, k]
        tree.child[to, at] = below
        tree.first[to, :, at] = tree.first[node, :, k]
        tree.last[to, :, at] = tree.last[node, :, k]
        tree.window[to, :, at] = tree.window[node, :, k]
        if upper:
            moved += 1
            if lowest:
                tree.above[below] = right
            else:
                tree.parent[below] = right
        else:
            kept += 1
    tree.size[node], tree.size[right] = kept, moved
    at = _place_of(tree, parent, node)
    _copy_child(tree, parent, at, right, side, plane)
    _unite(tree, parent, at, node)
    _unite(tree, parent, np.int64(tree.size[parent]) - 1, right)


@leaf()
def _new_node(tree: Tree) -> int:
    node = tree.state[NODES]
    tree.state[NODES] += 1
    tree.size[node] = 0
    tree.parent[node] = -1
    return node


@leaf()
def _height_of(tree: Tree, node: Int) -> int:
    height = tree.state[HEIGHT]
    while tree.parent[node] >= 0:
        node = np.int64(tree.parent[node])
        height -= 1
    return height


@leaf()
def _unite(tree: Tree, parent: int, at: int, node: int) -> None:
    """A child's window is that of all below it."""
    _shut(tree.window, parent, at)
    for k in range(tree.size[node]):
        for side in range(0, tree.window.shape[1], 2):
            low, high = tree.window[node, side, k], tree.window[node, side + 1, k]
            _widen(tree.window, parent, at, side, low, high)


@inner
def _plane(tree: Tree, node: int) -> tuple[int, int]:
    """The plane that divides the children best among those that cut none of their regions."""
    best, best_side = 0, -1
    best_plane: Int = 0
    for side in range(tree.first.shape[1]):
        for k in range(FANOUT):
            plane = tree.first[node, side, k]
            below, above = 0, 0
            for j in range(FANOUT):
                below += tree.last[node, side, j] < plane
                above += tree.first[node, side, j] >= plane
            if below + above == FANOUT and min(below, above) > best:
                best, best_side, best_plane = min(below, above), side, np.int64(plane)
    return best_side, best_plane


# --- letting boxes go


@kernel
def remove(tree: Tree, slots: Small) -> None:
    """Take boxes out of their pages. Windows stay as they are."""
    for slot in slots:
        page = np.int64(tree.leaves[slot])
        k = _find(tree, page, slot)
        while k < 0:
            page = np.int64(tree.next[page])
            k = _find(tree, page, slot)
        # The last one takes its place.
        last = np.int64(tree.filled[page]) - 1
        tree.slots[page, k], tree.ids[page, k] = tree.slots[page, last], tree.ids[page, last]
        for side in range(tree.codes.shape[1]):
            tree.codes[page, side, k] = tree.codes[page, side, last]
        tree.filled[page] = last


@leaf()
def _find(tree: Tree, page: int, slot: int) -> int:
    for k in range(tree.filled[page]):
        if tree.slots[page, k] == slot:
            return k
    return -1
