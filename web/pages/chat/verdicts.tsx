import { ShieldAlert } from 'lucide-react'
import { t } from '../chat.page.ts'
import type { StringKey } from '../chat.page.ts'
import type { Message } from './tree.ts'

type Verdict = NonNullable<Message['content']['guardrails']>[number]

/** What a person needs to know; a guardrail that found nothing is not told. */
const texts: Readonly<Record<string, StringKey>> = {
  mask: 'chat.masked',
  flag: 'chat.flagged',
  error: 'chat.unchecked',
}

/** What guardrails said of a call; a refusal is told by the error in the place of the answer. */
export function Verdicts({ verdicts }: { readonly verdicts: readonly Verdict[] }) {
  const shownVerdicts = verdicts.filter(one => texts[one.verdict])
  if (shownVerdicts.length === 0) return null
  return (
    <ul aria-label={t('chat.verdicts')} className="flex flex-col gap-1">
      {shownVerdicts.map(({ name, verdict, found }) => (
        <li key={name} className="flex items-start gap-2 text-warn">
          <ShieldAlert size={16} className="mt-px shrink-0" aria-hidden />
          {t(texts[verdict]!, { name, found: foundText(found) })}
        </li>
      ))}
    </ul>
  )
}

/** `2 × email address, 1 × phone number`. */
function foundText(found: Verdict['found']): string {
  const kinds = Object.entries(found).map(([kind, count]) => `${count} × ${kind.toLowerCase().replaceAll('_', ' ')}`)
  return kinds.length === 0 ? t('chat.something') : kinds.join(', ')
}
