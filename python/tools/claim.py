"""The claim on a search's folder, as the command has it (data/run_folder/run_directory.hpp): they exclude each other."""

import fcntl
import os


class FolderClaim:
    """Makes the folder if it is missing, and locks it. On leaving, folders that it made are gone again if nothing was put there."""

    def __init__(self, command, path):
        self.lock, self.made, at = os.path.join(path, "lock"), [], os.path.normpath(path)  # the innermost first
        while at and not os.path.exists(at):
            self.made.append(at)
            at = os.path.dirname(at)
        while True:
            command.ask("claim", path)  # it takes the claim and lets go: what is wrong with the folder, it says
            os.makedirs(path, exist_ok=True)
            self.descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(self.descriptor).st_nlink > 0:  # else its holder removed it just before
                    break
            except BlockingIOError:
                pass  # another process was faster
            os.close(self.descriptor)
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, b"%d\n" % os.getpid(), 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.unlink(self.lock)
            for folder in self.made:
                os.rmdir(folder)
        except OSError:
            pass  # there is something in the folder
        os.close(self.descriptor)
