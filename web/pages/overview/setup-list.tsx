import { Check } from 'lucide-react'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useModelNames } from '../../api/models.ts'
import type { Setup } from '../../api/setup.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { Panel } from '../../components/page.tsx'
import { gatewayUrl } from '../../lib/urls.ts'
import { snippetsFor } from '../../lib/snippets.ts'
import { t } from '../overview.page.ts'

const AddModel = lazyPart(async () => (await import('../models/add-model.tsx')).AddModel)
const CreateKey = lazyPart(async () => (await import('../keys/create-key.tsx')).CreateKey)

/** What a new installation needs, in order; each step does itself, and goes away when it is done. */
export function SetupList({ setup }: { readonly setup: Setup }) {
  const [open, setOpen] = useState<'model' | 'key' | null>(null)
  const names = useModelNames()
  const close = () => setOpen(null)
  const snippets = snippetsFor({ gateway: gatewayUrl, key: 'sk-...', model: names.data?.[0] ?? 'MODEL' })
  return (
    <Panel title={t('setup.title')}>
      <ol className="flex flex-col gap-4">
        <Step number={1} title={t('setup.model')} help={t('setup.modelHelp')} isDone={setup.has_model}>
          <Button kind="primary" onClick={() => setOpen('model')}>
            {t('setup.addModel')}
          </Button>
        </Step>
        <Step number={2} title={t('setup.key')} help={t('setup.keyHelp')} isDone={setup.has_key}>
          <Button kind={setup.has_model ? 'primary' : 'plain'} onClick={() => setOpen('key')}>
            {t('keys.create')}
          </Button>
        </Step>
        <Step number={3} title={t('setup.call')} help={t('setup.callHelp')} isDone={setup.has_call}>
          <CodeBlock label={t('keys.firstCall')} snippets={snippets} />
        </Step>
      </ol>
      {open === 'model' && <AddModel onClose={close} />}
      {open === 'key' && <CreateKey onClose={close} />}
    </Panel>
  )
}

interface StepProps {
  readonly number: number
  readonly title: string
  readonly help: string
  readonly isDone: boolean
  readonly children: ReactNode
}

function Step({ number, title, help, isDone, children }: StepProps) {
  return (
    <li className="grid grid-cols-(--columns-keys) gap-3">
      <span
        className="flex size-6 items-center justify-center rounded-full border border-line-control font-medium"
        aria-hidden
      >
        {isDone ? <Check size={14} className="text-good" /> : number}
      </span>
      <div className="flex min-w-0 flex-col items-start gap-2">
        <p className="font-medium">
          {title}
          {isDone && <span className="text-good"> · {t('setup.done')}</span>}
        </p>
        {!isDone && (
          <>
            <p className="text-muted">{help}</p>
            <div className="w-full min-w-0">{children}</div>
          </>
        )}
      </div>
    </li>
  )
}
