"""The seams: one Protocol each, named by role. Adapters are named by technology and live elsewhere.

Nothing here does anything, but for the fault points that the tests arm.
"""
