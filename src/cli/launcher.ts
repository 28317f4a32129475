/** Where Node has no `execve`, the launcher stays as the parent of this process and passes signals on. */
import type { CommandInput } from './command.ts'

const checkMs = 250

/**
 * Ends this process when its launcher is killed with SIGKILL, as if the signal had been for both: without it the
 * gateway would keep its port and data directory, and a supervisor could not start another.
 */
export function endWithLauncher({ MODELGATE_LAUNCHER_PID: pid }: CommandInput['environment']): void {
  // A process further down has another parent and inherits the variable only.
  if (pid === undefined || Number(pid) !== process.ppid) return
  const timer = setInterval(() => {
    // The code of a shell for a process that SIGKILL ended.
    if (process.ppid !== Number(pid)) process.exit(137)
  }, checkMs)
  timer.unref()
}
