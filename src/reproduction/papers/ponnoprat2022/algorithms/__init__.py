"""Algorithms that this paper alone needs: the accounting of Gohari et al."""
