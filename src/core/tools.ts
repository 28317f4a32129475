/**
 * The contract of tools: which tools a caller may use at the tool servers (MCP), and how one is called. A tool call is
 * a call of its own: admitted by rights, limits and budgets, settled once, with one row in the ledger.
 */
import type { Caller } from './caller.ts'
import type { RequestHeaders } from './request.ts'

/** How the gateway speaks with a tool server. `openapi` = a REST service, whose operations are its tools. */
export type ToolTransport = 'http' | 'sse' | 'stdio' | 'openapi'

/** A tool server, as callers see it who may use at least one of its tools. */
export interface ToolServer {
  /** The name of its entry in the configuration, or the one given by API: unique, of letters, digits and _. */
  readonly name: string
  readonly description: string
  readonly transport: ToolTransport
  readonly accessGroups: readonly string[]
}

/** What a server says of a tool's effects. It is the server's own word: never a reason to allow something. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/** A tool that a caller may call. */
export interface OfferedTool {
  /** `ToolServer.name`. */
  readonly server: string
  /** As its server calls it. */
  readonly name: string
  /**
   * As clients and models see it: `server-tool`, of [A-Za-z0-9_-], 64 characters at most, the same at each replica and
   * after each restart. Unique among all tools of the gateway.
   */
  readonly offeredName: string
  /** For people; absent = it has none beside its names. */
  readonly title?: string
  /** The server's text, or the operator's in its place. */
  readonly description: string
  /** JSON Schema of an object; draft 2020-12 unless it names another. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Of `structuredContent`; absent = the tool promises none. */
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly annotations?: ToolAnnotations
  /** Fields of the protocol that only clients of MCP read (`icons`, `_meta`); absent = none. */
  readonly protocolFields?: Readonly<Record<string, unknown>>
  /** What a call of it costs. Nano-dollars; 0 = it is free. */
  readonly costNanoUsd: bigint
}

/** Which of the tools that a caller may use are wanted. A field that is absent selects nothing and excludes nothing. */
export interface ToolSelection {
  /** Names of servers, or of access groups. With `accessGroups`: the servers of either. */
  readonly servers?: readonly string[]
  readonly accessGroups?: readonly string[]
  /** Names of tools, each as offered or as its server calls it. */
  readonly allowedTools?: readonly string[]
}

/** What became of the list of one server that was asked for. */
export interface ListedServer {
  readonly name: string
  /**
   * `listed` = its list is known and still valid; `stale` = it did not answer in time, these are the tools of its last
   * list; `failed` = it has not answered and no list of it is known.
   */
  readonly state: 'listed' | 'stale' | 'failed'
  /** How many of its tools are in the list. */
  readonly tools: number
  /** Why it is not `listed`, for the caller: no addresses, no credentials. Absent where it is. */
  readonly reason?: string
}

/** The tools of a caller, in the order of their servers' lists. */
export interface ToolList {
  readonly tools: readonly OfferedTool[]
  /** The servers that the caller may use and that were selected. */
  readonly servers: readonly ListedServer[]
  /** Why it has no tool, in a sentence that names what to do; undefined where it has one. */
  readonly emptyBecause: string | undefined
}

/** Who asks, and on behalf of which request. */
export interface ToolRequestContext {
  readonly caller: Caller
  /** Of the client's request: a server's `extra_headers` are taken from them. Absent = none. */
  readonly headers?: RequestHeaders | undefined
  /** Ends the work: the client has left, or does not want it any more. */
  readonly signal?: AbortSignal | undefined
}

/** How far a tool has come. */
export interface ToolProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** One call of one tool. */
export interface ToolCallRequest extends ToolRequestContext {
  /** As `OfferedTool` has them; `tool` is the server's name of it, or the offered one. */
  readonly server: string
  readonly tool: string
  /** Parsed JSON; checked by the server. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** The call of a model that the tool is run for (`Call.id`), in the ledger `parent_call_id`. Absent = none. */
  readonly parentCallId?: string | undefined
  /** As `sessionIdOf` reads it; absent = that of `headers`. */
  readonly sessionId?: string | null | undefined
  /** Of the client, for the ledger; absent = none. */
  readonly clientAddress?: string | undefined
  readonly userAgent?: string | undefined
  /** `_meta` for the server, such as trace context; absent = none. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** Absent = no progress is asked for. */
  onProgress?(progress: ToolProgress): void
}

/** A part of a tool's result, as MCP has it: `text`, `image`, `audio`, `resource`, `resource_link`. */
export interface ToolContent {
  readonly type: string
  /** Of `text`. */
  readonly text?: string
  /** Of `image` and `audio`: base64. */
  readonly data?: string
  readonly mimeType?: string
  readonly [field: string]: unknown
}

/** What a tool answered. */
export interface ToolCallResult {
  readonly content: readonly ToolContent[]
  readonly structuredContent?: unknown
  /** The tool says that it failed: `content` says why, and is meant for the model. It is charged like a success. */
  readonly isError: boolean
  /** `_meta` of the result, without what belongs to the protocol; absent = none. */
  readonly meta?: Readonly<Record<string, unknown>>
  /** Id of its row in the ledger. */
  readonly callId: string
  /** What it was charged. Nano-dollars. */
  readonly costNanoUsd: bigint
}

/** What servers list beside tools. */
export type ItemKind = 'prompts' | 'resources' | 'resourceTemplates'
/** A prompt, a resource or a template, by the fields of MCP. */
export type ProtocolItem = Readonly<Record<string, unknown>>

/** What servers of MCP have beside tools, in the words of the protocol. Refusals as those of `ToolGateway`. */
export interface ProtocolFeatures {
  /** Of all selected servers. Prompts have offered names; addresses of resources are those that servers give. */
  list(kind: ItemKind, context: ToolRequestContext, selection: ToolSelection): Promise<readonly ProtocolItem[]>
  /** `params` and results are those of `prompts/get`, `resources/read` and `completion/complete`. */
  getPrompt(context: ToolRequestContext, selection: ToolSelection, params: ProtocolItem): Promise<object>
  readResource(context: ToolRequestContext, selection: ToolSelection, params: ProtocolItem): Promise<object>
  complete(context: ToolRequestContext, selection: ToolSelection, params: ProtocolItem): Promise<object>
}

/** What a call of a tool is about, as policies and the ledger see it. */
export interface ToolUse {
  readonly server: string
  /** As its server calls it. */
  readonly tool: string
  readonly offeredName: string
  /** What it costs once it was sent. Nano-dollars. */
  readonly costNanoUsd: bigint
  /** null = no call of a model is behind it. */
  readonly parentCallId: string | null
  readonly sessionId: string | null
  /** Of the arguments in JSON. */
  readonly requestBytes: number
  /** Of the result in JSON; null = there is none. */
  answerBytes: number | null
  /** The tool says that it failed. */
  isToolError: boolean
  /** The server was given it: it is owed, also where no result comes. */
  isSent: boolean
}

/** A call of a tool that is to be admitted. */
export interface ToolCallStart {
  readonly caller: Caller
  readonly tool: ToolUse
  /** Canonical path for metrics and the ledger. */
  readonly route: string
  readonly headers: RequestHeaders | undefined
  readonly signal: AbortSignal | undefined
  readonly clientAddress: string
  readonly userAgent: string
}

/**
 * Passes a call of a tool through every policy, has it done by `work` and settles it. `work` is given the signal that
 * ends it. Rejects with the GatewayError for the caller.
 */
export type RunTool = <Result>(
  start: ToolCallStart,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<{ readonly result: Result; readonly callId: string; readonly headers: Readonly<Record<string, string>> }>

/**
 * All tools of the gateway, as one caller may use them. Refusals are GatewayErrors, which name server or tool:
 *
 * - `tool-forbidden` (403): the server or tool is not among those of the caller. It is the same error where nothing of
 *   that name exists, so that no caller learns the names of others' servers and tools.
 * - `rate-limited`, `budget-exceeded` (429), and what else admission refuses calls with: nothing was sent.
 * - `invalid-request` (400): the server refused the request itself (unknown tool, broken arguments).
 * - `upstream-timeout`, `upstream-unreachable`, `upstream-closed`, `upstream-failed`, `upstream-broken`,
 *   `upstream-credentials`: the server gave no result. Whether the tool has run is not known: only a tool that says
 *   `idempotentHint` or `readOnlyHint` may be called again.
 * - `client-closed`: `signal` ended it; the server was told.
 *
 * Every call that was admitted or refused by admission has one row in the ledger, also where `call` rejects.
 */
export interface ToolGateway {
  /** false = no server is configured: nothing needs to be asked. */
  readonly hasServers: boolean
  readonly features: ProtocolFeatures
  /** Servers of which the caller may use a tool at least, in the order of the configuration. Asks no server. */
  servers(caller: Caller): readonly ToolServer[]
  /** Rejects with `tool-forbidden` for a selected server or group that the caller may not use, or that is not there. */
  list(context: ToolRequestContext, selection?: ToolSelection): Promise<ToolList>
  /** The tool of an offered name; undefined = the caller has none of it. Asks servers only where no list is known. */
  find(context: ToolRequestContext, offeredName: string): Promise<OfferedTool | undefined>
  call(request: ToolCallRequest): Promise<ToolCallResult>
}
