/** The deployments of a model list, by their place in it. */
import { isDeepStrictEqual } from 'node:util'
import type { Deployment } from '../../core/deployment.ts'
import { mistakeAt } from '../checks/name-checks.ts'
import type { BuiltDeployments } from '../checks/name-checks.ts'
import type { ConfigReading } from '../reading/reading.ts'
import type { ModelEntry } from '../sections/models.ts'
import { EntryIds } from './deployment-ids.ts'

interface Listed {
  readonly at: number
  readonly entry: ModelEntry
}

/**
 * Gives deployments their ids. LiteLLM starts with an entry that is repeated, and calls it as often as it is there: of
 * its files the first one counts, with the weights of all, and the others are warnings.
 */
export class ListedDeployments {
  readonly #reading: ConfigReading
  readonly #warn: (text: string) => void
  readonly #ids = new EntryIds()
  readonly #entries = new Map<number, Deployment>()
  readonly #repeated = new Set<number>()
  readonly #firstById = new Map<string, Listed>()

  constructor(reading: ConfigReading, warn: (text: string) => void) {
    this.#reading = reading
    this.#warn = warn
  }

  /** Entries come in list order. */
  add(at: number, entry: ModelEntry, built: Deployment): void {
    const id = this.#ids.idOf(entry)
    const first = this.#firstById.get(id)
    if (!first || !this.#reading.isPeers || !isSameModel(first.entry, entry)) {
      this.#entries.set(at, { ...built, id })
      if (!first) this.#firstById.set(id, { at, entry })
      return
    }
    const counted = this.#entries.get(first.at)!
    this.#entries.set(first.at, { ...counted, weight: counted.weight + built.weight })
    this.#repeated.add(at)
    this.#warn(
      mistakeAt(
        this.#reading,
        ['model_list', at],
        `is the same as ${counted.origin.where}: both are one deployment, with the weights of both; take one out`,
      ),
    )
  }

  get result(): Pick<BuiltDeployments, 'entries' | 'repeated'> {
    return { entries: this.#entries, repeated: this.#repeated }
  }
}

const isSameModel = (one: ModelEntry, other: ModelEntry): boolean =>
  isDeepStrictEqual(namesOf(one), namesOf(other)) && isDeepStrictEqual(one.proxy_params, other.proxy_params)

const namesOf = ({ model_name: name, model_info: info }: ModelEntry) => [
  name,
  info?.team_id,
  info?.team_public_model_name,
]
