import { useMutation } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { GuardrailTrialWithWarnings } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { TextArea } from '../../components/forms/field.tsx'
import { Form } from '../../components/forms/form.tsx'
import { Panel } from '../../components/page.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../guardrails.page.ts'
import { marksOf } from './marks.ts'
import { VerdictBadge } from './verdict-badge.tsx'

type Direction = 'request' | 'response'

interface TestedText extends GuardrailTrialWithWarnings {
  readonly text: string
}

/** A text goes in, the verdict comes out, with what was found marked: as a question, or as an answer. */
export function GuardrailTester({ names }: { readonly names: readonly string[] }) {
  const [chosen, setChosen] = useState('')
  const [direction, setDirection] = useState<Direction>('request')
  const [text, setText] = useState('')
  const name = names.includes(chosen) ? chosen : (names[0] ?? '')
  const trial = useMutation({
    mutationFn: async (): Promise<TestedText> => {
      const body = { guardrail_name: name, text, input_type: direction }
      return { ...(await ask('POST /guardrails/apply', { body })), text }
    },
  })
  return (
    <Panel title={t('guardrails.bench')}>
      <Form className="flex flex-col gap-3" onSubmit={() => trial.mutate()}>
        <div className="grid gap-3 narrow:grid-cols-2">
          <Select
            label={t('guardrails.guardrail')}
            choices={names.map(value => ({ value, label: value }))}
            value={name}
            onChange={setChosen}
          />
          <Select
            label={t('guardrails.direction')}
            choices={[
              { value: 'request', label: t('guardrails.asQuestion') },
              { value: 'response', label: t('guardrails.asAnswer') },
            ]}
            value={direction}
            onChange={setDirection}
          />
        </div>
        <TextArea
          label={t('guardrails.text')}
          help={t('guardrails.textHelp')}
          value={text}
          onChange={setText}
          rows={4}
          maxLength={100_000}
        />
        <div>
          <Button
            type="submit"
            icon={<Play size={16} aria-hidden />}
            busy={trial.isPending}
            disabled={text === '' || name === ''}
          >
            {t('guardrails.try')}
          </Button>
        </div>
      </Form>
      <div aria-live="polite">
        {trial.isError && <ErrorState error={trial.error} isInline />}
        {trial.data && <Result tried={trial.data} />}
      </div>
    </Panel>
  )
}

function Result({ tried }: { readonly tried: TestedText }) {
  const { verdict, reason, found, text, response_text: masked } = tried
  const counts = Object.entries(found)
  return (
    <section className="flex flex-col gap-2" aria-label={t('guardrails.verdict')}>
      <p className="flex flex-wrap items-center gap-3">
        <VerdictBadge verdict={verdict} />
        {counts.map(([what, count]) => (
          <span key={what} className="font-mono text-code text-muted">
            {what} × {count}
          </span>
        ))}
      </p>
      {reason && <p className="break-words">{reason}</p>}
      {masked !== text && (
        <>
          <p className="whitespace-pre-wrap break-words rounded-control border border-line p-3">
            {marksOf(text, masked).map((piece, at) =>
              piece.name === null ? (
                piece.text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other identity
                <mark key={at} title={piece.name} className="rounded-control bg-selected px-1 text-text">
                  {piece.text}
                </mark>
              ),
            )}
          </p>
          <p className="text-muted">{t('guardrails.sent')}</p>
          <p className="whitespace-pre-wrap break-words font-mono text-code">{masked}</p>
        </>
      )}
    </section>
  )
}
