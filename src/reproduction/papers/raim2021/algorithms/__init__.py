"""Samplers that are used only by this paper: direct sampling, chains for censored statistics, and a baseline."""
