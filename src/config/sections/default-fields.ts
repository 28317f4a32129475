/** Keys of `proxy_params` for fields of calls that have none of their own, in LiteLLM's names. */
import { z } from 'zod'

const penalty = z.number().min(-2).max(2).optional()
const wantsThinking = 'must have a `type` of `enabled`, `disabled` or `adaptive`'
/** Fields that the gateway itself sets or reads. */
const ownFields: ReadonlySet<string> = new Set(['model', 'messages', 'prompt', 'input', 'stream', 'n'])

/** Their words in other dialects: core/dialects/default-fields.ts. */
export const defaultFieldParams = {
  temperature: z.number().min(0).max(2).optional().describe('For calls without one.'),
  top_p: z.number().min(0).max(1).optional().describe('For calls without one.'),
  top_k: z.number().int().min(0).optional().describe('For calls without one.'),
  frequency_penalty: penalty.describe('For chats and completions without one.'),
  presence_penalty: penalty.describe('For chats and completions without one.'),
  seed: z.number().int().optional().describe('For chats and completions without one.'),
  stop: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .optional()
    .describe('For chats, completions and Messages without one.'),
  thinking: z
    .record(z.string(), z.unknown())
    .refine(({ type }) => ['enabled', 'disabled', 'adaptive'].includes(String(type)), wantsThinking)
    .optional()
    .describe('For chats and Messages that say nothing about reasoning.'),
  reasoning_effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .optional()
    .describe('For chats, Responses and Messages that say nothing about reasoning.'),
  extra_body: z
    .record(
      z.string().refine(name => !ownFields.has(name), 'is set by the gateway or the client; take it out'),
      z.unknown(),
    )
    .optional()
    .describe('Fields for chats, completions and embeddings without them, such as a host takes beyond the API.'),
}
