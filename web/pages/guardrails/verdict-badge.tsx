import type { GuardrailTrialWithWarnings } from '../../api/schema.d.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { t } from '../guardrails.page.ts'
import type { StringKey } from '../guardrails.page.ts'

type Verdict = GuardrailTrialWithWarnings['verdict']

const shown: Readonly<Record<Verdict, readonly [tone: Tone, word: StringKey]>> = {
  pass: ['good', 'guardrails.pass'],
  flag: ['info', 'guardrails.flag'],
  mask: ['warn', 'guardrails.mask'],
  block: ['bad', 'guardrails.block'],
  error: ['bad', 'guardrails.error'],
}

/** What a guardrail said. */
export function VerdictBadge({ verdict }: { readonly verdict: Verdict }) {
  const [tone, word] = shown[verdict]
  return <Badge tone={tone}>{t(word)}</Badge>
}
