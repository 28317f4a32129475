/** Files and batches on their way to the upstream that keeps them. Implemented by `pipeline/file-call.ts`. */
import type { Edit, JsonBody } from '../lib/json-body.ts'
import type { Answer, AnswerStream } from './answer.ts'
import type { Caller } from './call.ts'
import type { Deployment } from './deployment.ts'
import type { HttpRequest } from './endpoint.ts'
import type { Upload, UploadPart } from './upload.ts'

/** What is sent: JSON, or a form with some of its fields changed. */
export type FileBody = { readonly json: unknown } | { readonly upload: Upload; readonly edits: readonly Edit[] }

export interface FileCall {
  /** Whose leaving ends the call. */
  readonly request: HttpRequest
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

export interface FileContent {
  /** At the pace of the client. It errors when the upstream cuts it. */
  readonly stream: AnswerStream
  /** As the upstream says; undefined = it does not. */
  readonly contentType: string | undefined
  /** Resolves when the last byte went out, or none will any more. */
  readonly over: Promise<void>
}

/**
 * One line of a file with its number, from 1; gives the pieces of the line to be sent instead. Nothing
 * may keep `line`: the next one takes its place. May throw GatewayError.
 */
export type RewriteLine = (line: Uint8Array, number: number) => readonly Uint8Array[]

export interface FileCalls {
  /**
   * Runs `work` under the limits of the caller, which it may hold for longer than it takes to begin an answer.
   * Throws `rate-limited`.
   */
  limited(request: HttpRequest, caller: Caller, work: (hold: (until: Promise<void>) => void) => Promise<Answer>): Promise<Answer>
  /** The client's form; close `upload` when it was sent. Throws `invalid-request`, `too-large`, `client-closed`. */
  readForm(request: HttpRequest): Promise<{ body: JsonBody; upload: Upload }>
  /** The upload with the lines of one part rewritten; closing it closes both. Empty lines are left out. */
  rewriteLines(upload: Upload, part: UploadPart, rewrite: RewriteLine): Promise<Upload>
  /** The JSON object that the upstream answers. Rejects with its fault. */
  json(call: FileCall): Promise<Record<string, unknown>>
  content(call: FileCall): Promise<FileContent>
}
