/** Files and batches on their way to the upstream that keeps them. Implemented by `pipeline/files/file-call.ts`. */
import type { Edit } from '../lib/json/json-body.ts'
import { Secret } from '../lib/secret.ts'
import type { AnswerStream } from './answer.ts'
import type { Call } from './call.ts'
import type { Deployment } from './deployment.ts'
import type { Outcome } from './operation.ts'
import type { Client } from './request.ts'
import type { Upload, UploadPart } from './upload.ts'

/** What is sent: JSON, or a form with some of its fields changed. */
export type FileBody = { readonly json: unknown } | { readonly upload: Upload; readonly edits: readonly Edit[] }

/** One call of an upstream's files API. */
export interface FileCall {
  /** Whose leaving ends the call. */
  readonly request: Client
  /** The call that this belongs to: it learns of the deployment and the attempt. */
  readonly of?: Call
  /** Its provider has `files`. */
  readonly deployment: Deployment
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Begins with `/files` or `/batches`. */
  readonly path: string
  readonly body?: FileBody
  /** Goes on when the client leaves: what it starts or cleans up at the upstream must not stay unknown here. */
  readonly outlivesClient?: boolean
  /** The exchange may take this long; absent = what the deployment says. */
  readonly totalMs?: number
}

/** The bytes of a file, as the upstream sends them. */
export interface FileContent {
  /** At the pace of the client. It errors when the upstream cuts it. */
  readonly stream: AnswerStream
  /** As the upstream says; undefined = it does not. */
  readonly contentType: string | undefined
  /** Resolves when the last byte went out, or none will any more; says how it ended. */
  readonly over: Promise<Outcome>
}

/**
 * One line of a file with its number, from 1; gives the pieces of the line to be sent instead. Nothing may keep `line`
 * once it has given them: the next line takes its place. May throw GatewayError.
 */
export type RewriteLine = (line: Uint8Array, number: number) => readonly Uint8Array[] | Promise<readonly Uint8Array[]>

/** Calls of upstreams' files and batches APIs, for the endpoints. */
export interface FileCalls {
  /** The upload with the lines of one part rewritten; closing it closes both. Empty lines are left out. */
  rewriteLines(upload: Upload, part: UploadPart, rewrite: RewriteLine): Promise<Upload>
  /** The JSON object that the upstream answers. Rejects with its fault. */
  json(call: FileCall): Promise<Record<string, unknown>>
  content(call: FileCall): Promise<FileContent>
  /** The content as a whole. Rejects with `upstream-broken` when it is larger than `bytesMax`. */
  bytes(call: FileCall, bytesMax: number): Promise<Uint8Array>
}

/**
 * Equal for deployments with the same files behind them: the same address and the same credentials. Undefined = no
 * files.
 */
export function accountOf({ target }: Deployment): string | undefined {
  const { provider, options } = target
  if (!provider.files) return undefined
  const { url, headers } = provider.files.head(target, '/files')
  // Where calls are signed, the credentials are not in the headers.
  const signing = provider.authorization
    ? Object.entries(options).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value])
    : []
  return JSON.stringify([provider.name, url, headers, signing])
}

/**
 * A file's id in the manner of this gateway (`endpoints/files/objects.ts`): a UUID of version 7 without its dashes.
 * OpenAI's ids are shorter, with letters of both cases; Azure's are UUIDs of version 4.
 */
export function isLocalFileId(id: string): boolean {
  return /^file-[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(id)
}
