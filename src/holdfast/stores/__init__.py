"""Where the truth lives: one package for each database, all passing the same contract suite.

Rows become domain values here and nowhere else. No decision is made here that domain can make.
"""
