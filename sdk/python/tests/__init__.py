import logging

# unittest runs its loops in debug mode, where every step above 0.1 s is a warning: noise on a busy machine. Errors stay.
logging.getLogger("asyncio").setLevel(logging.ERROR)
