// The words of the work engine, for people who have not met them.
export function WorkWords() {
  return (
    <details class="more words-of-work">
      <summary>What do these words mean?</summary>
      <dl class="facts">
        <div>
          <dt>Partition</dt>
          <dd>A list of items that belong together and are worked on by one server at a time.</dd>
        </div>
        <div>
          <dt>Item</dt>
          <dd>One piece of work. Quern gives it to the partition’s handler, a program of yours, until that says it is done.</dd>
        </div>
        <div>
          <dt>Gate</dt>
          <dd>A line that items wait at: those of the next gate begin only when all before them are done.</dd>
        </div>
        <div>
          <dt>Lease</dt>
          <dd>Who works on the partition, and until when. It is renewed; if that server dies, another takes over then.</dd>
        </div>
        <div>
          <dt>Failed</dt>
          <dd>Tried as often as allowed. It stays here with its messages until somebody puts it back to work.</dd>
        </div>
      </dl>
    </details>
  );
}

export const statusName: Record<string, string> = {
  available: 'Open',
  running: 'Running',
  failed: 'Failed',
  complete: 'Complete',
};

// Of an item, the same word means something else.
export const itemStatusName: Record<string, string> = { ...statusName, available: 'Waiting' };
