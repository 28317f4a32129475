/** Waiting for what comes about: a busy machine needs longer, a calm one loses nothing. */

/** Between two looks: a tenth of the time waited, within these. */
const pauseMinMs = 2
const pauseMaxMs = 50

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>

/**
 * Waits until `condition` holds, and returns what it returned. After `msMax` it throws an error with `what` was waited
 * for (else the text of the condition). The default is shorter than the time limit of a test, which names nothing.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what = String(condition),
  msMax = 50_000,
): Promise<Truthy<T>> {
  const fromMs = performance.now()
  for (;;) {
    const result = await condition()
    if (result) return result as Truthy<T>
    const waitedMs = performance.now() - fromMs
    if (waitedMs > msMax) throw new Error(`not within ${msMax} ms: ${what}`)
    await Bun.sleep(Math.min(pauseMaxMs, Math.max(pauseMinMs, waitedMs / 10)))
  }
}
