//! What becomes of stored deliveries: matching, dispatch, the spawn wrapper.
