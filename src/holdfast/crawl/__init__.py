"""What a response means: its content decoding, charset, HTML, and the robots.txt that came before it.

Plain functions over bytes, and one class that asks for robots.txt through the fetcher's port.
Nothing here knows items, ledgers, the engine or how bytes travel.
"""
