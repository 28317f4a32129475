/** What a rule says of OpenAI's chat completions: the form of the rows in `openai.ts` and `hosts.ts`. */
import type { NamedRow, Source } from './source.ts'

/** Members of messages in other vendors' dialects: thinking, and marks for caches. */
export const foreignMarks = ['thinking_blocks', 'cache_control', 'content.cache_control'] as const
/** Marks for caches on tools. */
export const markedTools = ['cache_control', 'function.cache_control'] as const

/** Fields by what becomes of them. */
export interface FieldRule {
  /** Refused: removed, and reported where they ask for something. */
  readonly unsupported?: readonly string[]
  /** Taken at this value alone; another one is removed and reported. */
  readonly onlyAt?: Readonly<Record<string, unknown>>
}

/** What a host, or a model of it, takes of a chat. */
export interface ChatRule extends FieldRule {
  readonly source: Source
  /** Fields under another name: `{max_completion_tokens: 'max_tokens'}`. */
  readonly rename?: Readonly<Record<string, string>>
  /** Members of a message that are refused, by their path in it: `reasoning_content`, `content.cache_control`. */
  readonly messageFields?: readonly string[]
  /** Members of a message under another name. */
  readonly messageRename?: Readonly<Record<string, string>>
  /** Members of a tool that are refused, by their path in it. */
  readonly toolFields?: readonly string[]
  /** The words of `reasoning_effort` that it takes, the least first; empty = it refuses the field. Absent = all. */
  readonly efforts?: readonly string[]
  /** How an effort of `none` is said by another field. */
  readonly effortOff?: { readonly field: string; readonly value: unknown }
  /** What a call without `reasoning_effort` has, where it decides on `whileReasoning`. */
  readonly defaultEffort?: 'none' | 'medium'
  /** Counts beside the rest while the effort is not `none`. */
  readonly whileReasoning?: FieldRule
  /** Values under another word: `{service_tier: {default: 'on_demand'}}`. */
  readonly words?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Fields that it takes as a list alone: a single text is sent as a list of one. */
  readonly lists?: readonly string[]
  /**
   * `logprobs` may be how many alternatives are wanted, which OpenAI says by `top_logprobs` beside it; `only` = it has
   * to be.
   */
  readonly logprobsAsCount?: 'only' | 'too'
  /** The content of a message is a text: parts that are all text are joined. Absent = parts are taken. */
  readonly textContent?: true
  /** Takes no JSON schema in `response_format`: the gateway puts it into the prompt, and checks the answer. */
  readonly schemas?: false
  /** Takes `response_format` and tools in one call; absent = yes, false = as for schemas, in calls with tools. */
  readonly formatBesideTools?: false
  /** Of OpenAI's Responses it takes less than OpenAI; absent = the fields above count there too, where it has them. */
  readonly responses?: ResponsesRule
}

/** What a host takes of OpenAI's Responses, where that is less. */
export interface ResponsesRule {
  readonly source: Source
  /** Fields that it does not know. */
  readonly unsupported: readonly string[]
  /** The words of `reasoning.effort` that it takes, the least first; `reasoning` has no other member there. */
  readonly efforts: readonly string[]
  /** Has `response_format`, with a schema alone, instead of `text`. */
  readonly chatFormat?: true
  /** Has no `tool_choice`. */
  readonly toolChoice?: false
  /** Its `input` holds texts and pictures by address: no files, no reasoning, only texts as results of tools. */
  readonly plainInput?: true
}

/** The rules of a model. */
export interface ModelRule extends ChatRule, NamedRow {}

/** The rules of a host with OpenAI's dialect. */
export interface HostRule extends ChatRule {
  /** The rules of its models, which come before those of the host; the first row that matches counts. */
  readonly models?: readonly ModelRule[]
  /** How it refuses a field, so that the simulator does the same; absent = as OpenAI does. */
  readonly refusal?: 'openai' | 'groq' | 'cerebras' | 'fireworks' | 'xai'
  /** It has chats only by OpenAI's Responses: the last day on which `/chat/completions` was answered. */
  readonly chatEndedOn?: string
}

/** A host's and its model's rules as one: the model's words replace the host's, lists are joined. */
export function joined(host: ChatRule | undefined, model: ChatRule | undefined): ChatRule | undefined {
  if (!host || !model) return model ?? host
  return {
    ...host,
    ...model,
    unsupported: [...(host.unsupported ?? []), ...(model.unsupported ?? [])],
    onlyAt: { ...host.onlyAt, ...model.onlyAt },
    rename: { ...host.rename, ...model.rename },
    messageFields: [...(host.messageFields ?? []), ...(model.messageFields ?? [])],
    messageRename: { ...host.messageRename, ...model.messageRename },
    toolFields: [...(host.toolFields ?? []), ...(model.toolFields ?? [])],
  }
}
