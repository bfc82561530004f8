//! Tests over the committed corpus, which is the fuzz targets' too.

mod corpus;
