/** Files of the pages that are loaded when they are needed, while the gateway is away or has become another version. */
import { ApiError } from '../api/client.ts'
import { apiUrl } from './urls.ts'
import { t } from '../strings/index.ts'

/** Between two looks whether the gateway is back. */
const retryMs = 1000
const answerMs = 5000
/** A file that is missing again so soon after a reload is not a matter of versions. */
const reloadAgainMs = 60_000
const storageKey = 'modelgate.reloaded'

/** true = the gateway answers. */
async function isReached(): Promise<boolean> {
  const signal = AbortSignal.timeout(answerMs)
  return fetch(apiUrl('/health/liveliness'), { cache: 'no-store', credentials: 'omit', signal }).then(
    response => response.ok,
    () => false,
  )
}

/** Says that the gateway is away, where that is why a file was not loaded; else throws what loading it threw. */
export async function whyNotLoaded(error: unknown): Promise<never> {
  throw (await isReached()) ? error : new ApiError(t('error.offline'), { status: 0 })
}

/** Loads the page anew as soon as the gateway answers. Returns the function that gives it up. */
export function reloadWhenReached(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isGivenUp = false
  const look = async () => {
    if (await isReached()) {
      if (!isGivenUp) location.reload()
    } else timer = setTimeout(look, retryMs)
  }
  void look()
  return () => {
    isGivenUp = true
    clearTimeout(timer)
  }
}

/**
 * Loads a part, again and again while the gateway is away: `onAway` is called once. A gateway of another version no
 * longer has the file: the page is loaded anew then. Rejects only where the part itself is broken.
 */
export async function untilLoaded<Part>(
  load: () => Promise<Part>,
  onAway: (error: ApiError) => void = () => undefined,
): Promise<Part> {
  let isTold = false
  for (let misses = 0; ; ) {
    try {
      return await load()
    } catch (error) {
      misses = (await isReached()) ? misses + 1 : 0
      if (misses > 1) {
        if (!reloadsOnce()) throw error
        // Nothing is shown of the page that goes.
        await new Promise(() => undefined)
      }
    }
    // It may have come back since the file was asked for.
    if (misses > 0) continue
    if (!isTold) onAway(new ApiError(t('error.offline'), { status: 0 }))
    isTold = true
    await new Promise(resolve => setTimeout(resolve, retryMs))
  }
}

/** Loads the page anew, unless that was done a moment ago. */
function reloadsOnce(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(storageKey)) < reloadAgainMs) return false
    sessionStorage.setItem(storageKey, String(Date.now()))
  } catch {
    // Without storage it cannot be known whether it helped before.
    return false
  }
  location.reload()
  return true
}
