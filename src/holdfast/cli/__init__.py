"""The command line: reads what a person asked for, calls the engine, shows what became of it.

stdout carries only what was asked for; everything else goes to stderr. No command knows SQL, HTTP or a home's
files.
"""
