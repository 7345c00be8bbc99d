"""Algorithms that this paper alone needs: moments of its releases, projections onto a total."""
