/**
 * What was read of a configuration file. Plain data, so that it can come from another process, and independent of what
 * reads it: neither YAML nor schemas are loaded where a reading is used.
 */
import type { Environment } from '../environment.ts'
import type { KnownSecret } from '../secret-sources.ts'
import type { Config } from '../sections/file.ts'
import { pathInFile } from './paths.ts'
import type { KeptItems, Path } from './paths.ts'
import type { PartialConfig } from './valid-parts.ts'

/** A mistake or a warning without line and column; `placeIn` locates it. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** The key is wrong, not its value. */
  readonly atKey?: boolean
  /** The key stands twice in one map, and the last one was read. */
  readonly isRepeated?: true
  /** The position, if the path does not determine it. */
  readonly offset?: number
}

/** A position in a file of the configuration. */
export interface SourceLocation {
  /** In characters from the beginning. */
  readonly offset: number
  /** `config.yaml:12:5`. */
  readonly text: string
}

/** Where the values of a document are, in the names of the file. */
export interface LocationTree {
  readonly key: SourceLocation
  readonly value: SourceLocation
  /** Of a map or a list, by key or index. */
  readonly inside?: ReadonlyMap<string | number, LocationTree>
}

/** The location of a finding, or of its nearest existing ancestor. Its path is in the names of the file. */
export function locationIn(root: LocationTree, { path, atKey }: Pick<Finding, 'path' | 'atKey'>): SourceLocation {
  let at = root
  for (const [depth, part] of path.entries()) {
    const next = at.inside?.get(part)
    if (!next) break
    if (atKey && depth === path.length - 1) return next.key
    at = next
  }
  return at.value
}

/** Values by the name of the credential: fields of `proxy_params`, with references resolved. */
export type Credentials = ReadonlyMap<string, Readonly<Record<string, unknown>>>

/** How a text is read; plain data, too. */
export interface ReadOptions {
  /** For messages. */
  readonly file: string
  readonly environment: Environment
  /** true = variables that are not set are no mistakes, and what refers to them is not checked. */
  readonly anyVariables?: boolean | undefined
  /** Secrets that are kept elsewhere; absent = they are not read, and what refers to them is not checked. */
  readonly secrets?: ReadonlyMap<string, KnownSecret> | undefined
  /** The text was sent by API: secrets may stand in it, and these credentials are beside those of the text. */
  readonly sent?: { readonly credentials: Credentials } | undefined
}

/** The valid content of a file, and its mistakes. */
export interface ReadFile {
  /** Without the invalid parts; undefined = the text is not a YAML document. */
  readonly config: Config | undefined
  /** The model list; undefined = there is none; null = it is not a list. */
  readonly entries: PartialConfig['entries']
  /** Lists of `config` that lost items; absent = none. */
  readonly kept?: KeptItems
  /** The file is written in LiteLLM's names. */
  readonly isPeers: boolean
  /** `file:line:col path: message`, in the order of the file. */
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
  /** The mistakes without their positions, at paths in the names of the file. */
  readonly problems: readonly Pick<Finding, 'path' | 'message'>[]
  /** The same of the warnings. */
  readonly notices: readonly Pick<Finding, 'path' | 'message'>[]
  /** The content in our own names, with its references as they are written. */
  readonly named: unknown
  /** The credentials of the file, by name, with references resolved. */
  readonly credentials: Credentials
  /** References to secrets that are kept elsewhere. */
  readonly references: readonly string[]
  /** undefined = there is no document. */
  readonly locations: LocationTree | undefined
  /** Paths in our names, as JSON: the name that the file has for the last part, where it is another. */
  readonly written: ReadonlyMap<string, string>
}

/** A file with its positions. */
export interface ConfigReading extends Omit<ReadFile, 'locations' | 'written' | 'kept'> {
  /** The position of a value: `config.yaml:12`. */
  lineOf(path: Path): string
  /** The position with its column: `config.yaml:12:5`. */
  locationOf(path: Path): string
  /** The path in the names that the file uses: `litellm_settings.num_retries`. */
  writtenPath(path: Path): Path
}

/** Reads the text of a file. Rejects only where the reader itself fails. */
export type ConfigReader = (text: string, options: ReadOptions) => Promise<ConfigReading>

/** A path in our names as the path in the names of the file. */
export function writtenPathOf(written: ReadFile['written'], path: Path): Path {
  return path.map((part, at) => written.get(JSON.stringify(path.slice(0, at + 1))) ?? part)
}

/** Puts functions over the data. */
export function readingOf({ locations, written, kept, ...file }: ReadFile): ConfigReading {
  const writtenPath = (path: Path) => writtenPathOf(written, pathInFile(kept, path))
  const locationOf = (path: Path) => (locations ? locationIn(locations, { path: writtenPath(path) }).text : '')
  return { ...file, writtenPath, locationOf, lineOf: path => locationOf(path).replace(/:\d+$/, '') }
}

/** What holds of a text that is no document: the mistakes alone. */
export const nothingRead: ReadFile = {
  config: undefined,
  entries: undefined,
  isPeers: false,
  mistakes: [],
  warnings: [],
  problems: [],
  notices: [],
  named: undefined,
  credentials: new Map(),
  references: [],
  locations: undefined,
  written: new Map(),
}

/** The reading of no file. */
export const noReading: ConfigReading = readingOf({ ...nothingRead, config: {} })

/** Escapes control characters, so that a message is always one line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
