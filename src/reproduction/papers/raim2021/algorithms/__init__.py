"""Samplers that this paper alone needs: direct sampling, chains over censored statistics, the baseline."""
