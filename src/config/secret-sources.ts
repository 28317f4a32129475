/**
 * Secrets that are kept elsewhere: `file/PATH`, `vault/PATH#FIELD`, `command/WORDS`. They are read ahead, so that the
 * configuration is built from what is known, and read again from time to time; a source that fails leaves the value
 * that was read last.
 */

/** What is known of a reference. */
export type KnownSecret = { readonly value: string } | { readonly problem: string }

/** Reads what stands behind the first slash of a reference. Rejects with the reason, which holds no secret. */
export type SecretReader = (rest: string) => Promise<string>

/** By the word before the first slash. */
export interface SecretReaders {
  readonly file: SecretReader
  readonly vault: SecretReader
  readonly command: SecretReader
}

const form = /^(file|vault|command)\/(.+)$/s
const readMsMax = 5000
const parallelReadsMax = 8
const referencesMax = 1000
const valueCharactersMax = 65_536

/** Whether a value refers to a secret that is kept elsewhere. */
export function isSecretReference(value: unknown): value is string {
  return typeof value === 'string' && form.test(value)
}

/** Every reference in a value, at any depth. */
export function secretReferencesIn(value: unknown): string[] {
  if (isSecretReference(value)) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretReferencesIn) : []
}

/** The secrets that were read. */
export class SecretSources {
  readonly #readers: SecretReaders
  readonly #known = new Map<string, KnownSecret>()

  constructor(readers: SecretReaders) {
    this.#readers = readers
  }

  /** What was read, by reference; it goes on changing. */
  get known(): ReadonlyMap<string, KnownSecret> {
    return this.#known
  }

  /**
   * Reads these references, each in 5 seconds at most; resolves with those whose value changed. Never rejects: a
   * failure stands in `known` where nothing is known, and by `failed` in any case.
   */
  async read(
    references: Iterable<string>,
    failed: (reference: string, problem: string) => void = () => {},
  ): Promise<readonly string[]> {
    const queue = [...new Set(references)]
    const changed: string[] = []
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const before = this.#known.get(next)
        const found = await this.#read(next)
        if ('problem' in found) failed(next, found.problem)
        if ('problem' in found && before && 'value' in before) continue
        if (!Bun.deepEquals(before, found)) changed.push(next)
        this.#known.set(next, found)
      }
    }
    await Promise.all(Array.from({ length: parallelReadsMax }, work))
    return changed
  }

  async #read(reference: string): Promise<KnownSecret> {
    const [, source, rest] = form.exec(reference) as unknown as [string, keyof SecretReaders, string]
    if (this.#known.size >= referencesMax && !this.#known.has(reference))
      return { problem: `more than ${referencesMax} secrets are kept elsewhere; use fewer` }
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error(`no answer within ${readMsMax / 1000} seconds`)), readMsMax)
    try {
      const value = (await Promise.race([this.#readers[source](rest), late.promise])).replace(/\r?\n$/, '')
      if (value === '') return { problem: 'it is empty' }
      return value.length > valueCharactersMax ? { problem: 'it is too long for a secret' } : { value }
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) }
    } finally {
      clearTimeout(timer)
    }
  }
}
