"""Thresholds, each declared once: those `correlate` decides by, and those that words stand for.

`correlate` records the thresholds it used in the facts of its result; whatever shows the result reads them from there.
The page gets `WORDS` as generated constants.
"""

from __future__ import annotations

# what the analysis decides
ONE_JOB = 0.75  # a head has one job if at least this share of its maps lies in one cluster
MOSTLY = 0.5  # a head belongs to a cluster if at least this share of its maps lies in it
SIGNIFICANT = 0.05  # p, or q after Benjamini and Hochberg, must be below this
SURPLUS = 1.25  # a layer belongs to a cluster if it has this many times its fair share of it
WORTH = 1.1  # a column's value is mentioned if it has this many times the maps expected
EXPLAINED = 0.1  # a head changes with a column that explains at least this share of its variance
MATTERS = 0.01  # a head, layer, example or column that explains less of the variance of maps does not matter
DIFFERS = 0.05  # a statistic whose means differ less between the values of a column is not mentioned
SAME_COLUMN = 0.8  # Cramér's V of two columns from which on their effects cannot be told apart
RARE = 0.05  # a head treats so many texts unlike others: those on which it is farthest from what it usually does
AS_OTHERS = 0.2  # … it treats one as other texts with the same value if it treats this share of those unlike others
SWITCHES = 0.5  # a head switches to a pattern if its share of the head's maps rises by at least this for a value
CHANGED = 0.025  # a head changed if its maps move this much more than between seeds, in bits of divergence: as if 5% of
# its attention, the least difference of most statistics, went to keys that had none
SHARES = 0.01  # a pattern whose share of all maps changes less between two models is not mentioned
GROUPS = 20  # with fewer independent texts, nothing is tested
ANALYSIS = {
    "one_job": ONE_JOB,
    "mostly": MOSTLY,
    "significant": SIGNIFICANT,
    "surplus": SURPLUS,
    "worth": WORTH,
    "explained": EXPLAINED,
    "matters": MATTERS,
    "groups": GROUPS,
    "differs": DIFFERS,
    "same_column": SAME_COLUMN,
    "switches": SWITCHES,
    "rare": RARE,
}

# what words stand for
STABLE = 0.85  # Jaccard index under bootstrap from which on a cluster is called stable …
FAIR = 0.6  # … and fair; below, it is called shaky
FAITHFUL = 0.95  # trustworthiness of a projection from which on near points look alike …
MOSTLY_FAITHFUL = 0.85  # … and mostly look alike
PART = 0.1  # a cluster with a smaller share of a head's maps is not mentioned
ALIKE = 0.9  # share of all pairs of heads that must be farther apart for one to be called like the other
MOST = 0.8  # the share of a set of maps that tells where the set comes from
MAINLY = 0.6  # the share of a set of maps that one pattern, or texts of one length, must have to describe it
BOTH_ENDS = 0.15  # … or this share on both the longest and the shortest third, to be on texts of every length
SAME_MEAN = 0.1  # relative difference below which two means are about the same
SAME_MIX = 0.1  # a set whose patterns differ less than this from those of all maps has the same mix
MISPLACED = 0.8  # a point with less trust is misplaced: those around it are, on average, not among its nearest fifth
GROUPED = 0.3  # points are grouped by a column in which near ones are this much more alike than at random
WORDS = {
    "STABLE": STABLE,
    "FAIR": FAIR,
    "FAITHFUL": FAITHFUL,
    "MOSTLY_FAITHFUL": MOSTLY_FAITHFUL,
    "PART": PART,
    "ALIKE": ALIKE,
    "MOST": MOST,
    "MAINLY": MAINLY,
    "BOTH_ENDS": BOTH_ENDS,
    "SAME_MEAN": SAME_MEAN,
    "SAME_MIX": SAME_MIX,
    "GROUPS": GROUPS,
    "MISPLACED": MISPLACED,
    "GROUPED": GROUPED,
}
