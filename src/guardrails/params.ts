/** The fields of a guardrail, in LiteLLM's layout (https://docs.litellm.ai/docs/proxy/guardrails/quick_start). */
import { z } from 'zod'
import { settingKeys } from '../core/setting-keys.ts'
import type { Values } from '../core/setting-keys.ts'
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
const action = () => z.enum(['mask', 'block', 'flag'])
const word = () => z.string().min(1).max(200)
const words = () => z.array(word()).min(1).max(10_000)
const count = () => z.number().int().min(0).max(100_000_000)
const language = () => z.string().regex(/^[a-z]{2,3}$/, 'must be a code such as en')
const address = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .refine(
      text => !URL.canParse(text) || !isLinkLocal(new URL(text).hostname),
      "must not be an address of this machine's own link, where metadata services hand out credentials",
    )

const patternKeys = settingKeys('general', {
  name: {
    type: () => z.string().regex(/^[A-Za-z0-9_]{1,64}$/, 'must be letters, digits and _'),
    isRequired: true,
    description: 'How the ledger and placeholders call what the pattern finds.',
    example: 'TICKET',
  },
  pattern: {
    type: () => z.string().min(1).max(10_000),
    isRequired: true,
    description: "The pattern, which is written in JavaScript's syntax, without look-around and references back.",
    example: '\\bTCK-[0-9]{6}\\b',
  },
  action: {
    type: action,
    description: 'What is done with what this pattern finds, in place of `action` of the guardrail.',
    example: 'mask',
  },
})

/** The fields of an entry of `topics`. */
export const topicKeys = settingKeys('general', {
  name: { type: word, isRequired: true, description: 'The topic, as refusals name it.', example: 'medicine' },
  words: {
    type: words,
    isRequired: true,
    description: 'The words and phrases that belong to the topic.',
    example: ['dosage', 'prescription'],
  },
  threshold: {
    type: () => count().min(1),
    default: 2,
    description: 'How many different words of the topic a text has that is about it.',
    example: 3,
  },
})

/** The fields of `litellm_params`. */
export const guardrailKeys = settingKeys('general', {
  guardrail: {
    type: () => z.enum(guardrailKinds),
    isRequired: true,
    description: 'The kind of the guardrail, which says what it does (docs/guardrails.md).',
    example: 'personal_data',
  },
  mode: {
    type: () => z.union([z.enum(modes), z.array(z.enum(modes)).min(1).max(4)]),
    isRequired: true,
    description:
      'When the guardrail is asked: before the call, beside it, or about its answer; `logging_only` means about ' +
      'both, and what it finds is only recorded.',
    example: ['pre_call', 'post_call'],
  },
  default_on: {
    type: () => z.boolean(),
    default: false,
    description:
      'true: the guardrail holds for every call. false: it holds where a key, team, model or request names it.',
    example: true,
  },
  action: {
    type: action,
    description:
      'What is done with what the guardrail finds: `mask`, `block` or `flag`, which only records. Left out: personal ' +
      'data are masked, all else is blocked.',
    example: 'block',
  },
  pii_entities_config: {
    type: () => z.record(z.string().max(64), z.enum(['MASK', 'BLOCK', 'FLAG', 'mask', 'block', 'flag'])),
    description: 'The kinds of personal data that are looked for, each with its action. Without it all kinds are.',
    example: { EMAIL_ADDRESS: 'MASK', CREDIT_CARD: 'BLOCK' },
  },
  output_parse_pii: {
    type: () => z.boolean(),
    default: true,
    description: 'true: what was masked in the question comes back in the answer. false: it stays masked there.',
    example: false,
  },
  words: {
    type: words,
    description: 'The words and phrases that the kind `words` looks for.',
    example: ['project nightingale'],
  },
  whole_words: {
    type: () => z.boolean(),
    default: true,
    description: 'true: words count where they stand alone. false: they count inside of longer ones, too.',
    example: false,
  },
  case_sensitive: {
    type: () => z.boolean(),
    description:
      'true: upper and lower case differ. false: they do not. Left out: they differ in `patterns`, but not in ' +
      '`words` and `topics`.',
    example: true,
  },
  patterns: {
    entries: patternKeys,
    list: entry => z.array(entry).min(1).max(500),
    description: 'The patterns that the kind `regex` looks for.',
    example: [{ name: 'TICKET', pattern: '\\bTCK-[0-9]{6}\\b' }],
  },
  topics: {
    entries: topicKeys,
    list: entry => z.array(entry).min(1).max(100),
    description: 'The topics that the kind `topics` looks for.',
    example: [{ name: 'medicine', words: ['dosage', 'prescription'] }],
  },
  threshold: {
    type: () => z.number().min(0).max(10),
    default: 1,
    description: 'The score from which `prompt_injection` acts.',
    example: 0.8,
  },
  languages: {
    type: () => z.array(language()).min(1).max(50),
    description: 'The languages that the kind `language` lets pass, as ISO 639 codes.',
    example: ['en', 'de'],
  },
  min_characters: {
    type: count,
    description: 'The fewest characters that the kind `length` lets pass.',
    example: 2,
  },
  max_characters: {
    type: count,
    description: 'The most characters that the kind `length` lets pass.',
    example: 20_000,
  },
  json_schema: {
    type: () => z.record(z.string(), z.unknown()),
    description: 'The JSON schema that answers have to fit, for the kind `json_schema`.',
    example: { type: 'object', required: ['city'] },
  },
  model: {
    type: () => z.string().min(1).max(500),
    description: 'The model of this gateway that `guard_model` or `moderation_model` asks.',
    example: 'guard',
  },
  input_mode: {
    type: () => z.enum(['prompt_and_response', 'response']),
    default: 'prompt_and_response',
    description: 'What `guard_model` is given of an answer: with its prompt, or alone.',
    example: 'response',
  },
  categories: {
    type: () => z.record(z.string().max(100), z.number().min(0).max(1)),
    description: 'The score of each category from which `moderation_model` acts. Without it the model itself decides.',
    example: { violence: 0.5 },
  },
  api_base: {
    type: address,
    description: 'The address of the service that the kind `webhook` asks.',
    example: 'https://checks.example.com',
  },
  api_key: {
    type: () => z.string().min(1).max(4096),
    description: 'The key that is sent to the service as a bearer token.',
    example: 'os.environ/CHECKS_KEY',
    secret: 'whole',
  },
  signing_secret: {
    type: () => z.string().min(16).max(4096),
    description: 'The secret that signs what the kind `webhook` sends, by HMAC-SHA-256.',
    example: 'os.environ/CHECKS_SIGNING_SECRET',
    secret: 'whole',
  },
  headers: {
    type: () => z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string().max(4096)),
    description: 'Further headers that requests to the service have.',
    example: { 'x-tenant': 'north' },
  },
  presidio_analyzer_api_base: {
    type: address,
    description: 'The address of the analyzer that the kind `presidio` asks.',
    example: 'http://presidio-analyzer:3000',
  },
  presidio_anonymizer_api_base: {
    type: address,
    description: 'It is not asked: the gateway masks by itself, so that masks can come back.',
    example: 'http://presidio-anonymizer:3000',
  },
  presidio_language: {
    type: language,
    default: 'en',
    description: 'The language that the analyzer of `presidio` is told the texts are in.',
    example: 'de',
  },
  presidio_score_threshold: {
    type: () => z.number().min(0).max(1),
    default: 0.5,
    description: 'The score from which what `presidio` finds counts.',
    example: 0.7,
  },
  window_characters: {
    type: () => count().min(50).max(100_000),
    description:
      'How many characters of a stream are judged at a time, while it goes on. Without it a stream is ' +
      'judged as a whole.',
    example: 600,
  },
  window_overlap: {
    type: () => count().max(10_000),
    description:
      'How many characters are held and judged again with what follows. Without it they are a fifth of a window.',
    example: 120,
  },
  window_seconds: {
    type: () => z.number().min(0.05).max(60),
    default: 1,
    description: 'After how many seconds a window is judged that is not full.',
    example: 0.5,
  },
  timeout: {
    type: () => z.number().min(0.05).max(120),
    default: 10,
    description: 'How many seconds a service or model may take to judge.',
    example: 3,
  },
  unreadable_files: {
    type: () => z.enum(['flag', 'block', 'pass']),
    default: 'flag',
    description:
      'What happens to a call with files that cannot be read (encrypted, damaged, of an unknown kind, too large when ' +
      'unpacked): it passes with a `flag`, is refused with `block`, or can `pass`.',
    example: 'block',
  },
  unreachable_fallback: {
    type: () => z.enum(['fail_closed', 'fail_open']),
    default: 'fail_closed',
    description:
      'What happens to a call when the service does not answer: with `fail_closed` it is refused, with `fail_open` ' +
      'it passes.',
    example: 'fail_open',
  },
})
/** The checked fields of a guardrail. */
export type GuardrailParams = Values<typeof guardrailKeys>

/** The name of a guardrail. */
export const guardrailName = () =>
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits and . _ -')

/** Fields that are never shown. */
export const guardrailSecrets = ['api_key', 'signing_secret'] as const
