/** What every row of these tables has: where the rule was read, and when. The tables import nothing but each other. */

/** A vendor's page, the types of its SDK, or what its API was seen to answer. */
export interface Source {
  readonly url: string
  /** The day on which the rule was read there, as `2026-11-23`. */
  readonly readOn: string
}

/** The list of models in litellm's package (`supports_*_reasoning_effort`, `reasoning_effort_levels`). */
export const peersList: Source = { url: 'https://pypi.org/project/litellm/1.110.2', readOn: '2026-11-29' }

/** A row for all names that its pattern matches; of several rows the first one counts. */
export interface NamedRow {
  /** Matched against a model's name at its host, in lower case. */
  readonly pattern: RegExp
  readonly source: Source
}

/** The first row for a name, in any case; undefined = nothing is known of that model. */
export function rowFor<Row extends NamedRow>(rows: readonly Row[], model: string): Row | undefined {
  const name = model.toLowerCase()
  return rows.find(({ pattern }) => pattern.test(name))
}
