import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { TextArea } from '../../components/forms/field.tsx'
import { Form } from '../../components/forms/form.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../chat.page.ts'
import { SentFiles } from './file-list.tsx'
import { CopyButton } from './copy-button.tsx'
import type { Step } from './tree.ts'
import { Variants } from './variants.tsx'

interface QuestionProps {
  readonly step: Step
  readonly onShow: (messageId: string) => void
  /** Where the bytes of a file are. */
  readonly fileUrl: (id: string) => string
  /** Asks the changed question beside this one; absent = an answer is under way. */
  readonly onEdit: ((text: string) => Promise<void>) | undefined
}

/** What the person asked. */
export function QuestionView({ step, onShow, fileUrl, onEdit }: QuestionProps) {
  const [editing, setEditing] = useState<'not yet' | 'now' | 'left'>('not yet')
  const { text, attachments = [] } = step.message.content
  if (editing === 'now' && onEdit)
    return <EditQuestion text={text} onEdit={onEdit} onClose={() => setEditing('left')} />
  return (
    <article aria-label={t('chat.you')} className="flex flex-col items-end gap-1">
      {attachments.length > 0 && <SentFiles files={attachments} urlOf={fileUrl} />}
      {text !== '' && (
        <p dir="auto" className="max-w-(--question) rounded-panel bg-hover px-4 py-2 break-words whitespace-pre-wrap">
          {text}
        </p>
      )}
      <div className="flex items-center text-muted">
        <Variants step={step} onShow={onShow} />
        <CopyButton text={text} label={t('chat.copyQuestion')} />
        {onEdit && (
          <Button
            kind="quiet"
            icon={<Pencil size={14} aria-hidden />}
            aria-label={t('chat.edit')}
            title={t('chat.edit')}
            // The keyboard goes on where it was.
            autoFocus={editing === 'left'}
            onClick={() => setEditing('now')}
          />
        )}
      </div>
    </article>
  )
}

interface EditProps {
  readonly text: string
  readonly onEdit: (text: string) => Promise<void>
  readonly onClose: () => void
}

function EditQuestion({ text, onEdit, onClose }: EditProps) {
  const [changed, setChanged] = useState(text)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const send = async () => {
    if (isBusy || changed.trim() === '') return
    setBusy(true)
    await onEdit(changed).then(onClose, setError)
    setBusy(false)
  }
  return (
    <Form className="flex flex-col gap-2" onSubmit={() => void send()}>
      <TextArea
        label={t('chat.edit')}
        help={t('chat.editHelp')}
        value={changed}
        onChange={setChanged}
        rows={4}
        autoFocus
        onKeyDown={event => event.key === 'Escape' && onClose()}
      />
      {error !== undefined && <ErrorState error={error} isInline />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t('all.cancel')}</Button>
        <Button kind="primary" type="submit" busy={isBusy}>
          {t('chat.askAgain')}
        </Button>
      </div>
    </Form>
  )
}
