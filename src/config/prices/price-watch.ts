/** Keeps the price list of the operator up to date: a file is read again when it changes, an address now and then. */
import { statSync } from 'node:fs'
import { systemClock as clock } from '../../lib/clock.ts'
import type { ReloadReport } from '../serve-options.ts'
import type { OperatorList } from './operator-list.ts'
import { fetchList, isAddress, pathOfSource } from './price-source.ts'
import { priceSourceKeys } from '../sections/prices.ts'
import type { PriceSettings } from './price-source.ts'

/** How often it is looked whether something is due. */
const tickMs = 2000
/** After a failed download it is tried again no later than this. */
const retryMs = 60_000

interface WatchOptions {
  /** Files are relative to it. */
  readonly configFile: string | undefined
  /** `prices` of the configuration as last read. */
  configured(): PriceSettings | undefined
  /** Reads the settings again, with the list as it is now. */
  reload(): Promise<ReloadReport>
}

/** What was brought from an address, and when it is due again. */
export class PriceWatch {
  readonly #options: WatchOptions
  #downloaded: { readonly settings: PriceSettings; readonly list: OperatorList } | undefined
  #triedFor: PriceSettings | undefined
  #dueAtMs = 0
  #isFetching = false
  #seen: string | undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** The list that was brought for exactly these settings; undefined = not yet. */
  downloaded(settings: PriceSettings): OperatorList | undefined {
    return this.#downloaded && Bun.deepEquals(this.#downloaded.settings, settings) ? this.#downloaded.list : undefined
  }

  /** Brings the list if it is at an address. undefined = nothing changed. Never rejects. */
  async bring(): Promise<ReloadReport | undefined> {
    const settings = this.#options.configured()
    if (!settings || !isAddress(settings.source) || this.#isFetching) return undefined
    this.#isFetching = true
    this.#triedFor = settings
    const refreshMs = (settings.refresh_seconds ?? priceSourceKeys.refresh_seconds.default) * 1000
    try {
      const list = await fetchList(settings)
      this.#dueAtMs = clock.monotonicMs() + refreshMs
      if (this.downloaded(settings)?.sha256 === list.sha256) return undefined
      this.#downloaded = { settings, list }
      return await this.#options.reload()
    } catch (error) {
      this.#dueAtMs = clock.monotonicMs() + Math.min(refreshMs, retryMs)
      return { applied: false, problems: [`prices: ${(error as Error).message}; the prices from before stay in force`] }
    } finally {
      this.#isFetching = false
    }
  }

  /** Calls back after every change of the list, and after every failure to bring it. */
  watch(done: (report: ReloadReport) => void): void {
    this.#timer = setInterval(() => void this.#tick(done), tickMs)
    this.#timer.unref()
    void this.#tick(done)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #tick(done: (report: ReloadReport) => void): Promise<void> {
    const settings = this.#options.configured()
    if (!settings) return
    if (!isAddress(settings.source)) {
      const path = pathOfSource(settings, this.#options.configFile)
      const fingerprint = `${path} ${fingerprintOf(path)} ${fingerprintOf(`${path}.sig`)}`
      const changed = this.#seen !== undefined && this.#seen !== fingerprint
      this.#seen = fingerprint
      if (changed) done(await this.#options.reload())
      return
    }
    if (Bun.deepEquals(this.#triedFor, settings) && clock.monotonicMs() < this.#dueAtMs) return
    const report = await this.bring()
    if (report) done(report)
  }
}

/** Changes with the file's identity, size and time. */
function fingerprintOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
}
