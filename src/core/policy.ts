/** The contract of a rule that every request or call passes. The order of all of them: `policies/index.ts`. */
import type { Reply } from './answer.ts'
import type { Attempt, Call, CallInAdmission, Settlement } from './call.ts'
import type { Caller } from './caller.ts'
import type { ChatEvent } from './hub/chat.ts'
import type { Deployment } from './deployment.ts'
import type { GatewayError } from './errors.ts'
import type { RequestHeaders } from './request.ts'

/**
 * Who may ask: `key` = any valid key, `manager` = administrators and users who are no viewers, `viewer` =
 * administrators and those who may read everything, `admin` = administrators, `directory` = administrators and keys of
 * directories, which pass no other class. Endpoints may refuse more.
 */
export type AuthClass = 'key' | 'manager' | 'viewer' | 'admin' | 'directory'

/** What a route is for, as `allowed_routes` of a key names it. */
export type RouteGroup = 'llm_api_routes' | 'management_routes' | 'info_routes'

/** A request whose path was matched and whose body is not read yet. */
export interface AdmittedRequest {
  /** That of the endpoint: HEAD is answered as GET. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
  readonly headers: RequestHeaders
  readonly query: URLSearchParams
  readonly clientAddress: string
  readonly auth: AuthClass
  /** Every path of the endpoint, as it is registered. */
  readonly routes: readonly string[]
  readonly routeGroup: RouteGroup
  /** See `Endpoint.takesRequest`. */
  readonly takesRequest: boolean
  /** See `Endpoint.keyInQuery`. */
  readonly keyInQuery: boolean
  /** A page for browsers, to which other sites may lead. */
  readonly isPage: boolean
  /** Set by the policy that identifies; undefined before it. */
  caller: Caller | undefined
  /** Headers for the answer, success or error; undefined = none. */
  answerHeaders: Record<string, string> | undefined
}

/** A rule for every request that needs a key, whether or not it is a call. */
export interface RequestPolicy {
  readonly name: string
  readonly stage: 'request'
  /** Refuses by throwing a GatewayError. Returns a promise only where it must wait. */
  admit(request: AdmittedRequest): void | Promise<void>
}

/** How one attempt at a deployment ended; `error` is undefined when it began an answer. */
export interface AttemptEnd {
  readonly deployment: Deployment
  /** The last request that was made in it. */
  readonly attempt: Readonly<Attempt>
  readonly error: GatewayError | undefined
}

/** A rule for every call: of a model, of files, of batches, of an assistant's run, in the background. */
export interface Policy {
  readonly name: string
  /** `head` = asked before the body is read; `body` = once it is read, from the policy on that checks the fields. */
  readonly stage: 'head' | 'body'
  /**
   * Whether it is asked where nothing is sent yet: for single lines of a batch's input file and for previews of calls.
   * Absent = for each of them as for a call; `preview` = for previews alone; false = for none: set by policies that
   * count, reserve, record or answer.
   */
  readonly dryRun?: false | 'preview'
  /**
   * Asked in order before the call is routed. Refuses by throwing a GatewayError, answers the call itself by returning
   * a Reply (in a dry run it counts as passing), reads `call.input()`, changes the request by `call.change()`. Returns
   * a promise only where it must wait.
   */
  admit?(call: CallInAdmission): void | Reply | Promise<void | Reply>
  /**
   * Asked once for each answer whose content consists of hub events (chat and text completions, in every dialect).
   * undefined = does not read this answer: its bytes may be forwarded as they are.
   */
  answer?(call: Call): AnswerFilter | undefined
  /**
   * The same for answers with texts that are no hub events: transcripts, the prompts of pictures, ranked documents.
   * Such an answer is read as a whole, also where it is streamed.
   */
  answerTexts?(call: Call): ChangeAnswerTexts | undefined
  /**
   * Asked before each further request of a call to an upstream (a retry, a fallback, an answer requested again, the
   * next prompt of a list): false = it is not sent, and the call ends with what it has. Must not throw.
   */
  admitAttempt?(call: Call): boolean | Promise<boolean>
  /**
   * Asked before a call is passed on to another model: an error = this model is passed over, and the call fails with
   * it where no other model takes its place. Must not throw.
   */
  admitModel?(call: Call, model: string): Promise<GatewayError | undefined>
  /** Asked when every attempt has failed: a Reply in place of the error. The first one is used. */
  failed?(call: Call, error: GatewayError): Reply | undefined
  /** Called for each attempt when it has failed or has begun an answer. Must not throw or wait. */
  attempted?(call: Call, attempt: AttemptEnd): void
  /** Called exactly once per call, also for calls that were refused. Must not throw or wait. */
  settled?(settlement: Settlement): void
}

/**
 * Reads and changes one answer, whole or streamed alike. It may hold events back, within 1 Mi characters; throwing a
 * GatewayError ends the answer with that error, and what is held back is never sent.
 */
export interface AnswerFilter {
  /** The events in place of `event`, in order; empty = removed, or held back. */
  event(event: ChatEvent): readonly ChatEvent[]
  /** The events still held back, when the answer is complete. */
  end(): readonly ChatEvent[]
  /** For filters that call a service: called after `end`, for the events that wait for its answer. */
  later?(): Promise<readonly ChatEvent[]>
  /** Of a stream, before its first event: for filters with `later` that give out events while the answer comes. */
  attach?(gate: AnswerGate): void
  /**
   * true = nothing has gone out, and a refusal may still come: the client's headers wait for some seconds, so that the
   * refusal can have a status of its own.
   */
  readonly holds?: boolean
}

/** Takes what a filter gives out between the events that it is given. Not to be called after `end`. */
export interface AnswerGate {
  release(events: readonly ChatEvent[]): void
  /** Ends the answer with that error; what is held back is never sent. */
  refuse(error: unknown): void
}

/** The texts of an answer that does not consist of hub events, in place of the given ones; one for each. */
export type ChangeAnswerTexts = (texts: readonly string[]) => readonly string[] | Promise<readonly string[]>
