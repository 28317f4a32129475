/** Checks of ids, aliases and fallbacks: the names they refer to must exist. */
import { nameWithVendor, wildcardRest } from '../../access/models/model-index.ts'
import type { Deployment } from '../../core/deployment.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { oneLine } from '../reading/reading.ts'
import type { Path } from '../reading/paths.ts'
import type { ConfigReading } from '../reading/reading.ts'
import type { Config } from '../sections/file.ts'
import { fallbackFields } from '../sections/router.ts'

/** The deployments of one configuration, before ids and names are compared. */
export interface BuiltDeployments {
  /** By index in the model list. */
  readonly entries: ReadonlyMap<number, Deployment>
  /** Indexes of entries that another one stands for. */
  readonly repeated: ReadonlySet<number>
  /** Deployments without an entry: from the environment, local servers, built-in. */
  readonly others: readonly Deployment[]
}

/** One line each, with the position in the file. */
interface NameFindings {
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
  /** An entry has no name that can be read, and it may be the one that is referred to. */
  readonly areDoubtful: boolean
}

/** `config.yaml:12:5 model_list.0: message`, in one line. */
export function mistakeAt(reading: ConfigReading, path: Path, message: string): string {
  return oneLine(`${reading.locationOf(path)} ${reading.writtenPath(path).join('.')}: ${message}`)
}

/** Ids must be unique, including those of invalid entries. */
export function idMistakes(reading: ConfigReading, { entries, repeated, others }: BuiltDeployments): string[] {
  const owners = new Map(others.map(one => [one.id, one.origin.where]))
  const mistakes: string[] = []
  for (const { at, entry } of reading.entries ?? []) {
    if (repeated.has(at)) continue
    const given = entry?.model_info?.id
    const id = given ?? entries.get(at)?.id
    if (id === undefined) continue
    const other = owners.get(id)
    if (other !== undefined && given !== undefined)
      mistakes.push(
        mistakeAt(
          reading,
          ['model_list', at, 'model_info', 'id'],
          `\`${id}\` is also the id of ${other}; ids must differ`,
        ),
      )
    else if (other !== undefined)
      mistakes.push(
        mistakeAt(
          reading,
          ['model_list', at],
          `is the same as ${other}; keep one, or give one a \`model_info.id\` of its own`,
        ),
      )
    else owners.set(id, reading.lineOf(['model_list', at]))
  }
  return mistakes
}

/** The model of each alias, and the aliases that lists leave out. */
export function modelAliasesOf(config: Config): {
  readonly models: Readonly<Record<string, string>>
  readonly hidden: ReadonlySet<string>
} {
  const written = Object.entries(config.router_settings?.model_group_alias ?? {})
  return {
    models: Object.fromEntries(written.map(([alias, to]) => [alias, typeof to === 'string' ? to : to.model])),
    hidden: new Set(written.flatMap(([alias, to]) => (typeof to === 'object' && to.hidden ? [alias] : []))),
  }
}

/** The names of invalid entries count as existing. */
export function nameFindings(
  config: Config,
  reading: ConfigReading,
  { entries, others }: BuiltDeployments,
): NameFindings {
  const listed = reading.entries ?? []
  const areDoubtful = listed.some(one => one.name === undefined)
  if (reading.entries === null) return { mistakes: [], warnings: [], areDoubtful }
  const deployments = [...entries.values(), ...others]
  const names = new Set(deployments.map(one => one.modelName).concat(listed.flatMap(one => one.name ?? [])))
  const aliases = new Map(Object.entries(modelAliasesOf(config).models))
  const known: KnownNames = { names, deployments, aliases }
  const aliasPath = (alias: string): Path => ['router_settings', 'model_group_alias', alias]
  const mistakes = [...aliases].flatMap(([alias, name]) => {
    const problem = aliasProblem(alias, name, known)
    return problem === undefined ? [] : [mistakeAt(reading, aliasPath(alias), problem)]
  })
  const shadowed = [...aliases.keys()].filter(alias => names.has(alias))
  const warnings = shadowed.map(alias =>
    mistakeAt(reading, aliasPath(alias), 'is also the `model_name` of a model, which wins: the alias has no effect'),
  )
  for (const name of Object.keys(config.router_settings?.model_group_retry_policy ?? {}))
    for (const problem of fallbackProblems(name, [], known))
      warnings.push(
        mistakeAt(reading, ['router_settings', 'model_group_retry_policy', name], `has no effect: ${problem}`),
      )
  mistakes.push(...fallbackMistakes(config, reading, known), ...publicMistakes(config, reading, known))
  return { mistakes, warnings, areDoubtful }
}

function fallbackMistakes(config: Config, reading: ConfigReading, known: KnownNames): string[] {
  const mistakes: string[] = []
  const add = (path: Path, problems: readonly string[]) =>
    void mistakes.push(...problems.map(problem => mistakeAt(reading, path, problem)))
  for (const section of ['router_settings', 'settings'] as const) {
    for (const field of fallbackFields)
      for (const [at, map] of (config[section]?.[field] ?? []).entries())
        for (const [from, to] of Object.entries(map)) add([section, field, at, from], fallbackProblems(from, to, known))
    add([section, 'default_fallbacks'], fallbackProblems('*', config[section]?.default_fallbacks ?? [], known))
  }
  return mistakes
}

function publicMistakes({ settings = {} }: Config, reading: ConfigReading, known: KnownNames): string[] {
  return (settings.public_model_groups ?? []).flatMap((name, at) => {
    const exists = known.aliases.has(name) || isServed(name, known)
    const problem = name.includes('*') ? onePattern(name) : exists ? undefined : noSuchModel(name, known)
    return problem === undefined ? [] : [mistakeAt(reading, ['settings', 'public_model_groups', at], problem)]
  })
}

interface KnownNames {
  /** Model names, patterns included. */
  readonly names: ReadonlySet<string>
  readonly deployments: readonly Deployment[]
  readonly aliases: ReadonlyMap<string, string>
}

const isServed = (name: string, { names, deployments }: KnownNames): boolean =>
  [...names].some(one => wildcardRest(one, name) !== undefined) ||
  deployments.some(one => nameWithVendor(one, name) !== undefined)

function noSuchModel(name: string, { names }: KnownNames): string {
  const near = closestMatch(name, names)
  return `no model is named \`${name}\`${near ? `, did you mean \`${near}\`?` : ''}`
}

const onePattern = (name: string): string => `\`${name}\` is a pattern; name one model`

function aliasProblem(alias: string, name: string, known: KnownNames): string | undefined {
  if (alias === name) return 'is an alias of itself; name the model that it stands for'
  if (alias.includes('*')) return 'an alias is one name and has no `*`; list a model with such a `model_name` instead'
  if (name.includes('*')) return onePattern(name)
  if (isServed(name, known)) return undefined
  // This also excludes cycles of aliases.
  return known.aliases.has(name)
    ? `\`${name}\` is an alias too, and aliases of aliases are not followed; name the model`
    : noSuchModel(name, known)
}

/** `*` on the left stands for every model without its own list. */
function fallbackProblems(from: string, to: readonly string[], known: KnownNames): string[] {
  const exists = (name: string) => known.aliases.has(name) || isServed(name, known)
  const isSame = (name: string) => name === from || known.aliases.get(name) === from
  const problems = to.flatMap(name => {
    if (isSame(name)) return [`\`${name}\` would fall back to itself; name another model`]
    if (name.includes('*')) return [onePattern(name)]
    return exists(name) ? [] : [noSuchModel(name, known)]
  })
  if (from === '*') return problems
  if (from.includes('*'))
    return [`calls never name the pattern \`${from}\` itself; name one model, or \`*\` for all of them`, ...problems]
  return exists(from) ? problems : [noSuchModel(from, known), ...problems]
}
