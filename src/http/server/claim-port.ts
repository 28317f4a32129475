/** A port that processes of one gateway share, or its listeners for two certificates, is still one gateway's alone. */
const againMs = 50

/**
 * Rejects as `listen` throws where another program has the port: SO_REUSEPORT would share it out among both, and a
 * client would meet the other one by chance. `waitMs` = for processes of this gateway that were killed a moment ago.
 */
export async function claimPort(hostname: string, port: number, waitMs: number): Promise<void> {
  if (port === 0) return
  const untilMs = performance.now() + waitMs
  for (;;)
    try {
      Bun.listen({ hostname, port, socket: { data() {} } }).stop(true)
      return
    } catch (error) {
      if (performance.now() >= untilMs) throw error
      await Bun.sleep(againMs)
    }
}
