/** The fields of a guardrail, in LiteLLM's layout (https://docs.litellm.ai/docs/proxy/guardrails/quick_start). */
import { z } from 'zod'
import { isLinkLocal } from '../lib/no-proxy.ts'

/** What a guardrail does; the second group is LiteLLM's names. */
export const guardrailKinds = [
  'personal_data',
  'secrets',
  'words',
  'topics',
  'regex',
  'prompt_injection',
  'json_schema',
  'language',
  'length',
  'guard_model',
  'moderation_model',
  'presidio',
  'webhook',
  'hide-secrets',
  'openai_moderation',
  'generic_guardrail_api',
] as const
/** One of `guardrailKinds`. */
export type GuardrailKind = (typeof guardrailKinds)[number]

const modes = ['pre_call', 'during_call', 'post_call', 'logging_only'] as const
const action = z.enum(['mask', 'block', 'flag'])
const entityAction = z.enum(['MASK', 'BLOCK', 'FLAG', 'mask', 'block', 'flag'])
const word = z.string().min(1).max(200)
const words = z.array(word).min(1).max(10_000)
const address = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
  .refine(text => !URL.canParse(text) || !isLinkLocal(new URL(text).hostname), {
    error: "must not be an address of this machine's own link, where metadata services hand out credentials",
  })
const count = z.number().int().min(0).max(100_000_000)

/** The fields of `litellm_params`. */
export const guardrailParams = z.strictObject({
  guardrail: z
    .enum(guardrailKinds)
    .describe('What it does (docs/guardrails.md).')
    .meta({ examples: ['personal_data'] }),
  mode: z
    .union([z.enum(modes), z.array(z.enum(modes)).min(1).max(4)])
    .describe(
      'When it is asked: before the call, beside it, about its answer; `logging_only` = about both, and only recorded.',
    )
    .meta({ examples: [['pre_call', 'post_call']] }),
  default_on: z
    .boolean()
    .optional()
    .describe('true: it holds for every call; false: where a key, team, model or request names it.')
    .meta({ examples: [true] }),
  action: action
    .optional()
    .describe('What is done with what it finds: `mask`, `block` or `flag`, which only records.')
    .meta({ examples: ['block'] }),
  pii_entities_config: z
    .record(z.string().max(64), entityAction)
    .optional()
    .describe('The kinds of personal data, each with its action; all kinds when left out.')
    .meta({ examples: [{ EMAIL_ADDRESS: 'MASK', CREDIT_CARD: 'BLOCK' }] }),
  output_parse_pii: z
    .boolean()
    .optional()
    .describe('false: what was masked in the question stays masked in the answer.')
    .meta({ examples: [false] }),
  words: words
    .optional()
    .describe('Words and phrases of `words`.')
    .meta({ examples: [['project nightingale']] }),
  whole_words: z
    .boolean()
    .optional()
    .describe('false: words count inside of longer ones, too.')
    .meta({ examples: [false] }),
  case_sensitive: z
    .boolean()
    .optional()
    .describe('true: upper and lower case differ.')
    .meta({ examples: [true] }),
  patterns: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(/^[A-Za-z0-9_]{1,64}$/, 'must be letters, digits and _')
          .describe('How the ledger and placeholders call what it finds.')
          .meta({ examples: ['TICKET'] }),
        pattern: z
          .string()
          .min(1)
          .max(10_000)
          .describe("JavaScript's syntax, without look-around and references back.")
          .meta({ examples: ['\\bTCK-[0-9]{6}\\b'] }),
        action: action
          .optional()
          .describe('As `action`, for this pattern.')
          .meta({ examples: ['mask'] }),
      }),
    )
    .min(1)
    .max(500)
    .optional()
    .describe('The patterns of `regex`.')
    .meta({ examples: [[{ name: 'TICKET', pattern: '\\bTCK-[0-9]{6}\\b' }]] }),
  topics: z
    .array(
      z.strictObject({
        name: word.describe('The topic, as refusals name it.').meta({ examples: ['medicine'] }),
        words: words.describe('Words that belong to it.').meta({ examples: [['dosage', 'prescription']] }),
        threshold: count
          .min(1)
          .optional()
          .describe('How many different words make the topic; 2 when left out.')
          .meta({ examples: [3] }),
      }),
    )
    .min(1)
    .max(100)
    .optional()
    .describe('The topics of `topics`.')
    .meta({ examples: [[{ name: 'medicine', words: ['dosage', 'prescription'] }]] }),
  threshold: z
    .number()
    .min(0)
    .max(10)
    .optional()
    .describe('The score from which `prompt_injection` acts; 1 when left out.')
    .meta({ examples: [0.8] }),
  languages: z
    .array(z.string().regex(/^[a-z]{2,3}$/, 'must be a code such as en'))
    .min(1)
    .max(50)
    .optional()
    .describe('The languages that `language` lets pass, as ISO 639 codes.')
    .meta({ examples: [['en', 'de']] }),
  min_characters: count
    .optional()
    .describe('The least of `length`.')
    .meta({ examples: [2] }),
  max_characters: count
    .optional()
    .describe('The most of `length`.')
    .meta({ examples: [20000] }),
  json_schema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The JSON schema that answers have to fit, for `json_schema`.')
    .meta({ examples: [{ type: 'object', required: ['city'] }] }),
  model: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('The model of this gateway that `guard_model` or `moderation_model` asks.')
    .meta({ examples: ['guard'] }),
  input_mode: z
    .enum(['prompt_and_response', 'response'])
    .optional()
    .describe('What `guard_model` is given of an answer: with its prompt (when left out), or alone.')
    .meta({ examples: ['response'] }),
  categories: z
    .record(z.string().max(100), z.number().min(0).max(1))
    .optional()
    .describe('The score of each category from which `moderation_model` acts; what the model flags when left out.')
    .meta({ examples: [{ violence: 0.5 }] }),
  api_base: address
    .optional()
    .describe('The address of the service of `webhook`.')
    .meta({
      examples: ['https://checks.example.com'],
    }),
  api_key: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('Sent to the service as a bearer token.')
    .meta({ examples: ['os.environ/CHECKS_KEY'] }),
  signing_secret: z
    .string()
    .min(16)
    .max(4096)
    .optional()
    .describe('Signs what `webhook` sends, by HMAC-SHA-256.')
    .meta({ examples: ['os.environ/CHECKS_SIGNING_SECRET'] }),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string().max(4096))
    .optional()
    .describe('Further headers of requests to the service.')
    .meta({ examples: [{ 'x-tenant': 'north' }] }),
  presidio_analyzer_api_base: address
    .optional()
    .describe('The address of the analyzer of `presidio`.')
    .meta({ examples: ['http://presidio-analyzer:3000'] }),
  presidio_anonymizer_api_base: address
    .optional()
    .describe('Not asked: the gateway masks by itself, so that masks can come back.')
    .meta({ examples: ['http://presidio-anonymizer:3000'] }),
  presidio_language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'must be a code such as en')
    .optional()
    .describe('The language that is sent to `presidio`; en when left out.')
    .meta({ examples: ['de'] }),
  presidio_score_threshold: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('The score from which what `presidio` finds counts; 0.5 when left out.')
    .meta({ examples: [0.7] }),
  window_characters: count
    .min(50)
    .max(100_000)
    .optional()
    .describe('Streams are judged piece by piece of so many characters, and go on meanwhile; as a whole when left out.')
    .meta({ examples: [600] }),
  window_overlap: count
    .max(10_000)
    .optional()
    .describe('So many characters are held and judged again with what follows; a fifth of a window when left out.')
    .meta({ examples: [120] }),
  window_seconds: z
    .number()
    .min(0.05)
    .max(60)
    .optional()
    .describe('A window that is not full is judged after so many seconds; 1 when left out.')
    .meta({ examples: [0.5] }),
  timeout: z
    .number()
    .min(0.05)
    .max(120)
    .optional()
    .describe('Seconds that a service or model may take; 10 when left out.')
    .meta({ examples: [3] }),
  unreadable_files: z
    .enum(['flag', 'block', 'pass'])
    .optional()
    .describe(
      'Files of a request that cannot be read (encrypted, damaged, of an unknown kind, too large when unpacked): the ' +
        'call passes with a flag (when left out), is refused, or passes.',
    )
    .meta({ examples: ['block'] }),
  unreachable_fallback: z
    .enum(['fail_closed', 'fail_open'])
    .optional()
    .describe('What happens to a call when the service does not answer; it is refused when left out.')
    .meta({ examples: ['fail_open'] }),
})
/** The fields of a guardrail that passed `guardrailParams`. */
export type GuardrailParams = z.infer<typeof guardrailParams>

/** The name of a guardrail. */
export const guardrailName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits and . _ -')

/** Fields that are never shown. */
export const guardrailSecrets = ['api_key', 'signing_secret'] as const
