"""Algorithms that are used only by this paper, which compute exact moments of its releases and projections of noisy
counts onto a total.
"""
