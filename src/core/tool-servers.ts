/** A tool server as it is configured, in the file or by API. */
import type { Secret } from '../lib/secret.ts'
import type { ToolServer } from './tools.ts'

/** How to reach a tool server, and what it may offer to whom. Frozen; compared by identity. */
export interface ToolServerSettings extends ToolServer {
  /** Of the file the name, of the API a UUID. */
  readonly id: string
  readonly origin: 'config' | 'db'
  /** Stands before the names of its tools: its alias, else its name. */
  readonly prefix: string
  /** undefined = it is a program of this machine. */
  readonly url: string | undefined
  /** Program and arguments, without a shell; undefined = it is reached over the network. */
  readonly command: readonly string[] | undefined
  /** What the program sees of the environment, beside PATH, HOME and LANG. */
  readonly environment: Readonly<Record<string, Secret>>
  /** Megabytes that the program and its children may hold together; the program is ended above it. */
  readonly memoryMbMax: number
  /** Headers of each request, with that of its credentials; by lower-case name. */
  readonly headers: Readonly<Record<string, Secret>>
  /** Headers of the client's request that are sent along, by lower-case name. */
  readonly forwardedHeaders: readonly string[]
  /** By the names that the server has for them; undefined = all. */
  readonly allowedTools: ReadonlySet<string> | undefined
  readonly disallowedTools: ReadonlySet<string>
  /** Texts in the place of the server's, by its names of tools. */
  readonly titles: Readonly<Record<string, string>>
  readonly descriptions: Readonly<Record<string, string>>
  /** Of a call of a tool that `toolCosts` does not have. Nano-dollars. */
  readonly defaultCostNanoUsd: bigint
  readonly toolCosts: Readonly<Record<string, bigint>>
  /** Every key may use it, also one to which nothing was granted. */
  readonly allowsAllKeys: boolean
  /** Of a call, without progress in between. */
  readonly timeoutMs: number
  /** How long its lists hold where it does not say. */
  readonly listTtlMs: number
  /** Its address may be one of a private network. */
  readonly mayBePrivate: boolean
}
