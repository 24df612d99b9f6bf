"""How two machines that share a file system, and nothing else, show and see a run: ``attempts/<n>/fastlane/``.

Whoever looks touches ``wanted`` twice a second. While that goes on, the attempt's supervisor puts ``latest.jpg`` in
place, at most twice a second, with the lanes' metrics as JSON in its comment; or ``note.txt``, which says why there is
no picture. The folder is there, with ``wanted`` in it, as long as the attempt runs.

Clocks are never compared: ``wanted`` counts when it has changed since the last look, and the age of a picture is the
difference of two times of the one file system. Files are opened to be looked at: NFS then asks its server, where
``stat`` may be told what was so half a minute ago.
"""

WANTED = "wanted"
LATEST = "latest.jpg"
NOTE = "note.txt"
