"""The client side of a connection, under all faces: frames out, replies in, recovery between.

It does not know what a face looks like, nor how the queue manager decides.
"""
