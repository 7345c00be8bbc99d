"""Samplers that are used only by this paper, for direct sampling and for chains of censored statistics, and a
baseline.
"""
